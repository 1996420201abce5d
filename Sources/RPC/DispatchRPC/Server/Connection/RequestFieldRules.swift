import CNGHTTP2

/// Judges one request's fields, of which one comes at a time, by HTTP/2's rules (RFC 9113 §8.2, §8.3), for sessions in
/// which nghttp2 does not check them. Pure.
///
/// nghttp2 refuses a request without `:authority`, or with one that is no host. Clients over Unix sockets have no host:
/// they send the socket's path, nothing, or `localhost`. So their requests are judged here, by nghttp2's rules for all
/// but `:authority`. A value with a tab or a byte beyond ASCII passes: `Metadata` reads what it can of it.
struct RequestFieldRules {
  private struct Pseudo: OptionSet {
    let rawValue: UInt8
    static let method = Pseudo(rawValue: 1)
    static let scheme = Pseudo(rawValue: 2)
    static let path = Pseudo(rawValue: 4)
    static let authority = Pseudo(rawValue: 8)
    static let required: Pseudo = [.method, .scheme, .path]
  }

  private var seen: Pseudo = []
  private var hasRegularField = false
  private var hasWrongField = false

  /// The request has a field that HTTP/2 does not allow, or lacks one that it requires.
  var isMalformed: Bool { hasWrongField || !seen.isSuperset(of: .required) }

  mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if !isAllowed(name, value) { hasWrongField = true }
  }

  private mutating func isAllowed(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    if name.first == UInt8(ascii: ":") {
      guard Self.isValid(value), !hasRegularField, let pseudo = Self.pseudo(name) else { return false }
      return seen.insert(pseudo).inserted
    }
    hasRegularField = true
    return Self.isValid(name: name) && !Self.isOfConnection(name) && !Self.endsLine(value)
  }

  private static func pseudo(_ name: UnsafeRawBufferPointer) -> Pseudo? {
    if name.equals(":method") { return .method }
    if name.equals(":scheme") { return .scheme }
    if name.equals(":path") { return .path }
    return name.equals(":authority") ? .authority : nil
  }

  /// RFC 9113 §8.2.2.
  private static func isOfConnection(_ name: UnsafeRawBufferPointer) -> Bool {
    name.equals("connection") || name.equals("keep-alive") || name.equals("proxy-connection")
      || name.equals("transfer-encoding") || name.equals("upgrade")
  }

  private static func isValid(name: UnsafeRawBufferPointer) -> Bool {
    nghttp2_check_header_name(name.baseAddress?.assumingMemoryBound(to: UInt8.self), name.count) != 0
  }

  /// Such a value, passed on over HTTP/1.1, would make another field (RFC 9113 §8.2.1).
  private static func endsLine(_ value: UnsafeRawBufferPointer) -> Bool {
    value.contains { $0 == 0 || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
  }

  private static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
    nghttp2_check_header_value_rfc9113(value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count) != 0
  }
}
