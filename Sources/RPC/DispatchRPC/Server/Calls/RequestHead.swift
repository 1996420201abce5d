/// Gathers the fields of a request that matter as they come in, and judges them once they are complete
/// (PROTOCOL-HTTP2.md, "Requests"). Pure.
struct RequestHead {
  enum Refusal: Equatable {
    /// Not gRPC at all: an HTTP status and no more.
    case http(HTTPRefusal)
    case status(RPCCode, StaticMessage)
    /// A `grpc-encoding` that we do not know: the client is told which we do (grpc/grpc doc/compression.md).
    case unknownEncoding

    /// The refused request is a gRPC call.
    var isOfCall: Bool {
      if case .http = self { false } else { true }
    }
  }

  enum HTTPRefusal: Equatable {
    /// Its fields break HTTP/2's own rules (`RequestFieldRules`).
    case badRequest
    case methodNotAllowed
    case unsupportedMediaType
  }

  enum StaticMessage: String {
    case headersTooLarge = "the request's headers exceed the limit"
    case noTrailers = "the request does not say te: trailers; something in between does not speak gRPC"
    case malformedTimeout = "grpc-timeout is malformed"
    case unknownMethod = "there is no such method"
    case severalEncodings = "there is more than one grpc-encoding"
  }

  private(set) var route: Int?
  /// Nanoseconds from the arrival of the headers.
  private(set) var timeout: UInt64?
  /// The encoding of messages that are marked as compressed; `nil` for one that we do not know.
  private(set) var encoding: MessageEncoding? = .identity
  /// The client names encodings, so the answer names ours.
  private(set) var namesEncodings = false
  private(set) var metadata = EncodedMetadata()
  /// As RFC 9113 §6.5.2 counts it; all that came, kept or not.
  private(set) var listBytes = 0
  private(set) var isTooLarge = false

  private var isPost = false
  private var isGRPC = false
  private var takesTrailers = false
  private var hasMalformedTimeout = false
  private var hasEncoding = false
  private var hasSeveralEncodings = false

  /// Fields beyond `limit` (RFC 9113 §6.5.2) are counted and dropped. `findRoute` is asked for the path.
  mutating func add(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, limit: Int,
    findRoute: (UnsafeRawBufferPointer) -> Int?
  ) {
    listBytes += Self.listBytes(ofField: name, value)
    guard listBytes <= limit else {
      isTooLarge = true
      return
    }
    guard !read(name, value, findRoute) else { return }
    metadata.append(name, value)
  }

  /// RFC 9113 §6.5.2.
  static func listBytes(ofField name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Int {
    name.count + value.count + 32
  }

  mutating func dropMetadata() {
    metadata = EncodedMetadata()
  }

  func refusal() -> Refusal? {
    if isTooLarge { return .status(.resourceExhausted, .headersTooLarge) }
    if !isPost { return .http(.methodNotAllowed) }
    if !isGRPC { return .http(.unsupportedMediaType) }
    if !takesTrailers { return .status(.internalError, .noTrailers) }
    if hasMalformedTimeout { return .status(.internalError, .malformedTimeout) }
    if route == nil { return .status(.unimplemented, .unknownMethod) }
    if hasSeveralEncodings { return .status(.internalError, .severalEncodings) }
    if encoding == nil { return .unknownEncoding }
    return nil
  }

  /// True when the field is ours and no metadata.
  private mutating func read(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ findRoute: (UnsafeRawBufferPointer) -> Int?
  ) -> Bool {
    switch name.count {
    case 2 where name.equals("te"):
      takesTrailers = value.equals("trailers")
    case 5 where name.equals(":path"):
      route = findRoute(value)
    case 7 where name.equals(":method"):
      isPost = value.equals("POST")
    case 12 where name.equals("content-type"):
      isGRPC = Self.isGRPC(contentType: value)
    case 12 where name.equals("grpc-timeout"):
      timeout = GRPCTimeout.parse(value)
      hasMalformedTimeout = timeout == nil
    case 13 where name.equals("grpc-encoding"):
      hasSeveralEncodings = hasEncoding
      hasEncoding = true
      encoding = MessageEncoding(value)
      namesEncodings = true
    case 20 where name.equals("grpc-accept-encoding"):
      namesEncodings = true
    default:
      return name.first == UInt8(ascii: ":") || name.equals("user-agent") || name.equals("content-length")
    }
    return true
  }

  /// `application/grpc`, bare or followed by a subtype or parameters.
  private static func isGRPC(contentType: UnsafeRawBufferPointer) -> Bool {
    let name: StaticString = "application/grpc"
    guard contentType.starts(with: UnsafeRawBufferPointer(name)) else { return false }
    guard contentType.count > name.utf8CodeUnitCount else { return true }
    let next = contentType[name.utf8CodeUnitCount]
    return next == UInt8(ascii: "+") || next == UInt8(ascii: ";")
  }
}

/// Metadata as they came, decoded only when they are read.
struct EncodedMetadata: Sendable {
  /// For most calls all that is needed.
  private static let firstCapacity = 256

  /// For each field: the lengths of name and value, four bytes each, then both.
  private var bytes: [UInt8] = []

  var byteCount: Int { bytes.count }

  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if bytes.isEmpty { bytes.reserveCapacity(Self.firstCapacity) }
    withUnsafeBytes(of: (UInt32(name.count), UInt32(value.count))) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: name)
    bytes.append(contentsOf: value)
  }

  func decoded() -> Metadata {
    decoded { _ in true }
  }

  /// The fields of one name alone, without making strings of the others.
  func decoded(_ name: String) -> Metadata {
    decoded { $0.elementsEqual(name.utf8) }
  }

  private func decoded(where isWanted: (UnsafeRawBufferPointer) -> Bool) -> Metadata {
    bytes.withUnsafeBytes { bytes in
      var metadata = Metadata()
      var offset = 0
      while offset < bytes.count {
        let nameCount = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let valueCount = Int(bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        let value = offset + 8 + nameCount
        let name = UnsafeRawBufferPointer(rebasing: bytes[offset + 8..<value])
        if isWanted(name) {
          metadata.appendReceived(
            name: String(decoding: name, as: UTF8.self),
            value: UnsafeRawBufferPointer(rebasing: bytes[value..<value + valueCount]))
        }
        offset = value + valueCount
      }
      return metadata
    }
  }
}
