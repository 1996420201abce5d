/// Gathers the headers and trailers of a response as they come in, and judges how the call went (PROTOCOL-HTTP2.md,
/// "Responses"). Pure.
struct ResponseHead {
  private(set) var initialMetadata = EncodedMetadata()
  private(set) var trailingMetadata = EncodedMetadata()
  private(set) var isTooLarge = false
  private(set) var httpStatus: Int?

  private var code: RPCCode?
  private var message: String?
  private var isGRPC = false
  private var listBytes = 0
  private var inTrailers = false

  /// A header block begins: the first is the response's head, one after it the trailers. An informational response
  /// (1xx, RFC 9110 §15.2) may come before, and leaves no trace.
  mutating func blockBegins() {
    listBytes = 0
    if let httpStatus, httpStatus >= 200 {
      inTrailers = true
    } else {
      self = ResponseHead()
    }
  }

  /// Fields beyond `limit` (RFC 9113 §6.5.2) are counted and dropped.
  mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, limit: Int) {
    listBytes += name.count + value.count + 32
    guard listBytes <= limit else {
      isTooLarge = true
      return
    }
    guard !read(name, value) else { return }
    if inTrailers { trailingMetadata.append(name, value) } else { initialMetadata.append(name, value) }
  }

  /// Messages may follow: it is neither an informational response nor one of trailers only, nor are these the trailers.
  var isInitial: Bool { httpStatus == 200 && code == nil && !inTrailers }

  /// It was initial: what fails from here on has begun to answer (gRFC A6, "Response-Headers").
  var hasBegunAnswer: Bool { httpStatus == 200 && (code == nil || inTrailers) }

  /// The head is in: `nil` when it is gRPC's and within the limit, so that messages may follow.
  func refusal() -> RPCError? {
    if isTooLarge { return Self.tooLarge }
    guard let httpStatus else { return nil }
    guard httpStatus == 200 || code != nil else {
      return RPCError(code: RPCCode(httpStatus: httpStatus), message: "HTTP status \(httpStatus)")
    }
    guard isGRPC || code != nil else {
      return RPCError(code: .unknown, message: "the response is not gRPC")
    }
    return nil
  }

  /// The stream ended. OK and the trailing metadata, or the error that the server named, or the lack of either.
  func outcome() -> Result<Metadata, RPCError> {
    if isTooLarge { return .failure(Self.tooLarge) }
    guard httpStatus != nil else {
      return .failure(RPCError(code: .internalError, message: "the stream ended without a response"))
    }
    guard let code else {
      if let refusal = refusal() { return .failure(refusal) }
      return .failure(RPCError(code: .unknown, message: "the response has no grpc-status"))
    }
    // In a response of trailers only they come as the first block.
    let metadata = (inTrailers ? trailingMetadata : initialMetadata).decoded()
    guard code == .ok else { return .failure(RPCError(code: code, message: message ?? "", metadata: metadata)) }
    return .success(metadata)
  }

  private static let tooLarge = RPCError(
    code: .resourceExhausted, message: "the response's headers exceed the limit")

  /// True when the field is ours and no metadata.
  private mutating func read(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    switch name.count {
    case 7 where name.equals(":status"):
      httpStatus = Self.httpStatus(value)
    case 11 where name.equals("grpc-status"):
      code = RPCCode(headerValue: value)
    case 12 where name.equals("grpc-message"):
      message = PercentEncoding.decode(value)
    case 12 where name.equals("content-type"):
      isGRPC = value.starts(with: UnsafeRawBufferPointer("application/grpc"))
    default:
      return name.equals("grpc-encoding") || name.equals("grpc-accept-encoding")
    }
    return true
  }

  /// nghttp2 has checked that there are three digits.
  private static func httpStatus(_ value: UnsafeRawBufferPointer) -> Int {
    value.reduce(0) { $0 &* 10 &+ (Int($1) &- 0x30) }
  }
}
