internal import Encodings

/// The headers and trailers of a call that belong to the application: an ordered multimap of names and values.
///
/// Names are lower-case ASCII letters, digits, `-`, `_` and `.`. A name ending in `-bin` has bytes for a value, which
/// travel in Base64; any other has printable ASCII without leading or trailing spaces (PROTOCOL-HTTP2.md,
/// "Custom-Metadata"). Names that HTTP/2 or gRPC use themselves (`content-type`, `te`, `grpc-status`, …) are refused;
/// `grpc-status-details-bin` and other `grpc-…-bin` names are the application's.
public struct Metadata: Hashable, Sendable {
  public struct Entry: Hashable, Sendable {
    public let name: String
    public let value: Value
  }

  public enum Value: Hashable, Sendable {
    case text(String)
    case binary([UInt8])
  }

  public private(set) var entries: [Entry] = []

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }

  /// False, and nothing added, when the name or the value is not allowed.
  @discardableResult
  public mutating func append(_ name: String, _ value: String) -> Bool {
    let name = name.lowercased()
    guard Self.isAllowed(name), !Self.isBinary(name), Self.isPlainText(value) else { return false }
    entries.append(Entry(name: name, value: .text(value)))
    return true
  }

  /// The name must end in `-bin`. False, and nothing added, when it does not or is not allowed.
  @discardableResult
  public mutating func append(_ name: String, binary value: [UInt8]) -> Bool {
    let name = name.lowercased()
    guard Self.isAllowed(name), Self.isBinary(name) else { return false }
    entries.append(Entry(name: name, value: .binary(value)))
    return true
  }

  public func first(_ name: String) -> String? {
    for entry in entries where entry.name == name {
      if case .text(let value) = entry.value { return value }
    }
    return nil
  }

  /// The texts of this name in their order, joined by ", " as one field's (RFC 9110 §5.3); `nil` if there is none.
  public func joined(_ name: String) -> String? {
    var joined: String?
    for entry in entries where entry.name == name {
      guard case .text(let value) = entry.value else { continue }
      joined = joined.map { "\($0), \(value)" } ?? value
    }
    return joined
  }

  public func firstBinary(_ name: String) -> [UInt8]? {
    for entry in entries where entry.name == name {
      if case .binary(let value) = entry.value { return value }
    }
    return nil
  }

  public func all(_ name: String) -> [Value] {
    entries.filter { $0.name == name }.map(\.value)
  }
}

extension Metadata: ExpressibleByArrayLiteral {
  /// Text entries. A literal with a name or value that is not allowed is a mistake in the program and traps.
  public init(arrayLiteral elements: (String, String)...) {
    for (name, value) in elements {
      precondition(append(name, value), "metadata \(name) is not allowed")
    }
  }
}

extension Metadata {
  /// Adds a header as it came off the wire. Drops a name that is no application metadata, and bytes that are not in
  /// Base64: nothing here depends on them. A text is kept whatever it holds, so that it is never taken for absent.
  mutating func appendReceived(name: String, value: UnsafeRawBufferPointer) {
    guard Self.isAllowed(name) else { return }
    guard Self.isBinary(name) else {
      entries.append(Entry(name: name, value: .text(Self.text(ofReceived: value))))
      return
    }
    // Several values of one name may arrive joined by commas (RFC 9110 §5.3).
    for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      guard let bytes = Base64.decode(UnsafeRawBufferPointer(rebasing: part), padding: .optional) else { continue }
      entries.append(Entry(name: name, value: .binary(bytes)))
    }
  }

  /// Returns the value without white space around it, and with "?" for each byte that is not printable ASCII, such as a
  /// tab. gRPC leaves it to the receiver what it makes of them, if the application may send the value on.
  private static func text(ofReceived value: UnsafeRawBufferPointer) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    guard let first = value.firstIndex(where: { !isBlank($0) }), let last = value.lastIndex(where: { !isBlank($0) })
    else { return "" }
    let text = UnsafeRawBufferPointer(rebasing: value[first...last])
    guard !text.allSatisfy(isPrintable) else { return String(decoding: text, as: UTF8.self) }
    return String(decoding: text.map { isPrintable($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  static func isBinary(_ name: String) -> Bool {
    name.hasSuffix("-bin")
  }

  private static let reserved: Set<String> = [
    "content-type", "content-length", "te", "host", "connection", "keep-alive", "proxy-connection",
    "transfer-encoding", "upgrade", "user-agent",
  ]

  private static func isAllowed(_ name: String) -> Bool {
    guard !name.isEmpty, name.utf8.allSatisfy(isNameByte), !reserved.contains(name) else { return false }
    return !name.hasPrefix("grpc-") || isBinary(name) || name == "grpc-retry-pushback-ms"
      || name == "grpc-previous-rpc-attempts"
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x5F: true
    default: false
    }
  }

  private static func isPlainText(_ value: String) -> Bool {
    let bytes = value.utf8
    guard bytes.first != 0x20, bytes.last != 0x20 else { return false }
    return bytes.allSatisfy(isPrintable)
  }

  private static func isPrintable(_ byte: UInt8) -> Bool {
    (0x20...0x7E).contains(byte)
  }
}
