internal import Encodings

/// Takes a connection's bytes as they come, and hands out heads and bodies in turn (RFC 9112). Strict: a request that
/// two readers could understand differently is refused. Pure.
///
/// Lines end with CR LF and nothing else. A body has a Content-Length, or is chunked alone (`ChunkedBody`).
struct RequestParser {
  struct Limits {
    var headBytes: Int
    var headerFields: Int
  }

  enum Step {
    /// More bytes are needed.
    case more
    /// Then call `takeBody`, unless the request is refused.
    case head(HTTPRequestHead)
    case body([UInt8])
    /// A chunked body is longer than it may be. The rest of the connection has no meaning.
    case tooLarge
    /// The rest of the connection has no meaning.
    case refuse(HTTPStatus, String)
  }

  private enum State {
    case head
    /// `takeBody` is due, or the connection ends.
    case between
    case body(Int)
    case chunks(ChunkedBody)
    case over
  }

  private let limits: Limits
  private var state = State.head
  private var buffer: [UInt8] = []
  /// Positions in the head: the end of the scanned part, the beginning of its present line, and the ranges of its
  /// lines.
  private var scanned = 0
  private var lineStart = 0
  private var lines: [Range<Int>] = []
  /// `nil`: it is chunked.
  private var bodyLength: Int? = 0

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// Some of a request came, and not all of it.
  var isWithinRequest: Bool {
    switch state {
    case .head: !buffer.isEmpty
    case .between, .body, .chunks: true
    case .over: false
    }
  }

  var isWithinBody: Bool {
    switch state {
    case .body, .chunks: true
    case .head, .between, .over: false
    }
  }

  /// Bytes of the body came with the head, so the client does not wait for 100 (Continue).
  var hasBytes: Bool { !buffer.isEmpty }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    buffer += bytes
  }

  /// - Parameter maximumBytes: of a chunked body.
  mutating func takeBody(upTo maximumBytes: Int = 0) {
    state = bodyLength.map(State.body) ?? .chunks(ChunkedBody(maximumBytes: maximumBytes))
  }

  mutating func next() -> Step {
    let step: Step =
      switch state {
      case .head: nextHead()
      case .body(let count): nextBody(count)
      case .chunks(let body): nextChunks(of: body)
      case .between, .over: .more
      }
    switch step {
    case .refuse, .tooLarge: state = .over
    case .more, .head, .body: break
    }
    return step
  }

  private mutating func nextChunks(of body: consuming ChunkedBody) -> Step {
    // The only copy, so that none is made for each piece.
    state = .between
    let step = body.take(from: &buffer)
    state = .chunks(body)
    switch step {
    case .more: return .more
    case .malformed: return malformed("a chunk is malformed")
    case .tooLarge: return .tooLarge
    case .done:
      state = .head
      return .body(body.bytes)
    }
  }

  private mutating func nextBody(_ count: Int) -> Step {
    guard buffer.count >= count else { return .more }
    let body = Array(buffer[..<count])
    buffer.removeFirst(count)
    state = .head
    return .body(body)
  }

  // MARK: The head's lines

  private mutating func nextHead() -> Step {
    while scanned < buffer.count {
      let byte = buffer[scanned]
      if scanned >= limits.headBytes { return tooLong() }
      if byte == .lineFeed {
        guard scanned > lineStart, buffer[scanned - 1] == .carriageReturn else {
          return malformed("a line ends without CR")
        }
        let line = lineStart..<scanned - 1
        scanned += 1
        lineStart = scanned
        if !line.isEmpty {
          lines.append(line)
          if lines.count > limits.headerFields + 1 { return tooLong() }
        } else if !lines.isEmpty {
          return parseHead()
        } else if scanned > 2 {
          // RFC 9112 §2.2: one empty line before a request is passed over.
          return malformed("there are empty lines before the request")
        }
        continue
      }
      if scanned > lineStart, buffer[scanned - 1] == .carriageReturn { return malformed("a CR is not followed by LF") }
      guard byte >= 0x20 && byte != 0x7F || byte == .carriageReturn || byte == .tab else {
        return malformed("there is a control character")
      }
      scanned += 1
    }
    return .more
  }

  private func tooLong() -> Step {
    lines.isEmpty
      ? .refuse(.targetTooLong, "the request line is too long")
      : .refuse(.fieldsTooLarge, "the header fields are too long or too many")
  }

  private func malformed(_ reason: String) -> Step { .refuse(.badRequest, reason) }

  private mutating func parseHead() -> Step {
    let texts = lines.map { String(decoding: buffer[$0], as: UTF8.self) }
    buffer.removeFirst(scanned)
    (scanned, lineStart, lines) = (0, 0, [])
    do throws(Refusal) {
      let head = try Self.head(texts)
      bodyLength = head.isChunked ? nil : head.contentLength
      state = .between
      return .head(head)
    } catch {
      return .refuse(error.status, error.reason)
    }
  }
}

// MARK: - Lines and fields

extension RequestParser {
  private struct Refusal: Error {
    var status: HTTPStatus
    var reason: String

    init(_ reason: String, _ status: HTTPStatus = .badRequest) {
      self.status = status
      self.reason = reason
    }
  }

  private static func head(_ lines: [String]) throws(Refusal) -> HTTPRequestHead {
    let (method, target, isVersion11) = try requestLine(lines[0])
    let (authority, pathAndQuery) = try split(target)
    let (path, query) = try Self.pathAndQuery(of: pathAndQuery)
    var fields = HTTPFields()
    for line in lines.dropFirst() {
      let (name, value) = try field(line)
      fields.append(name, value)
    }
    var head = HTTPRequestHead(method: method, path: path, query: query, fields: fields)
    head.host = try host(fields, isRequired: isVersion11)
    if let authority { try require(authority, of: target, toBe: &head.host) }
    head.isChunked = try isChunked(fields, isVersion11: isVersion11)
    head.contentLength = try head.isChunked ? 0 : contentLength(fields)
    let options = fields.list("connection").map { $0.asciiLowercased() }
    // HTTP/1.0 has connections that go on only as an extension.
    head.keepsAlive = isVersion11 && !options.contains("close")
    head.expectsContinue = try expectsContinue(fields) && isVersion11
    return head
  }

  /// METHOD SP TARGET SP HTTP/1.1 (RFC 9112 §3).
  private static func requestLine(
    _ line: String
  ) throws(Refusal) -> (method: String, target: Substring, isVersion11: Bool) {
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, isToken(parts[0]), !parts[1].isEmpty,
      parts[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw Refusal("the request line is malformed")
    }
    switch parts[2] {
    case "HTTP/1.1": return (String(parts[0]), parts[1], true)
    case "HTTP/1.0": return (String(parts[0]), parts[1], false)
    case _ where parts[2].hasPrefix("HTTP/"): throw Refusal("HTTP/1.1 is served", .versionNotSupported)
    default: throw Refusal("the request line is malformed")
    }
  }

  /// Splits a whole URL, which proxies receive (RFC 9112 §3.2.2), into its authority and what follows.
  private static func split(_ target: Substring) throws(Refusal) -> (authority: Substring?, rest: Substring) {
    guard scheme(of: target) != nil else { return (nil, target) }
    let afterScheme = target.drop { $0 != ":" }.dropFirst(3)
    let rest = afterScheme.drop { $0 != "/" && $0 != "?" }
    let authority = afterScheme[..<rest.startIndex]
    return (authority, rest.isEmpty || rest.hasPrefix("?") ? "/" + rest : rest)
  }

  private static func scheme(of target: Substring) -> HTTPAuthority.Scheme? {
    // In any case (RFC 9110 §4.2.3). Only as much of the target is read as the longest scheme has.
    let start = target.prefix("https://".count).asciiLowercased()
    return [HTTPAuthority.Scheme.http, .https].first { start.hasPrefix($0.rawValue + "://") }
  }

  /// A handler that looks at Host must not serve what the target names another server for.
  private static func require(
    _ text: Substring, of target: Substring, toBe host: inout String?
  ) throws(Refusal) {
    guard let authority = HTTPAuthority(text), !authority.host.isEmpty, let scheme = scheme(of: target) else {
      throw Refusal("the request's target is malformed")
    }
    guard let written = host else { return host = String(text) }
    guard HTTPAuthority(written).map({ authority.isSame(as: $0, scheme: scheme) }) == true else {
      throw Refusal("the request's target and its field Host name different servers")
    }
  }

  /// Splits "/path?query".
  private static func pathAndQuery(of rest: Substring) throws(Refusal) -> (path: String, query: String?) {
    guard rest.hasPrefix("/") || rest == "*", !rest.contains("#") else {
      throw Refusal("the request's target is malformed")
    }
    guard let mark = rest.firstIndex(of: "?") else { return (String(rest), nil) }
    return (String(rest[..<mark]), String(rest[rest.index(after: mark)...]))
  }

  /// NAME: VALUE, not continued on the next line (RFC 9112 §5).
  private static func field(_ line: String) throws(Refusal) -> (name: String, value: String) {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else {
      throw Refusal("a header field is malformed")
    }
    return (String(line[..<colon]), String(String(line[line.index(after: colon)...]).trimmed()))
  }

  private static func host(_ fields: HTTPFields, isRequired: Bool) throws(Refusal) -> String? {
    let hosts = fields.values(of: "host")
    guard hosts.count <= 1, let host = hosts.first else {
      guard hosts.isEmpty, !isRequired else { throw Refusal("a request has one field Host") }
      return nil
    }
    guard HTTPAuthority(host) != nil else { throw Refusal("the field Host is malformed") }
    return host
  }

  private static func isChunked(_ fields: HTTPFields, isVersion11: Bool) throws(Refusal) -> Bool {
    let codings = fields.values(of: "transfer-encoding")
    guard !codings.isEmpty else { return false }
    guard fields.values(of: "content-length").isEmpty else {
      throw Refusal("a request has a length or a transfer coding, not both")
    }
    guard isVersion11 else { throw Refusal("HTTP/1.0 has no transfer coding") }
    guard codings.count == 1, codings[0].asciiLowercased() == "chunked" else {
      throw Refusal("there is no such transfer coding", .notImplemented)
    }
    return true
  }

  private static func contentLength(_ fields: HTTPFields) throws(Refusal) -> Int {
    let lengths = fields.values(of: "content-length")
    guard let text = lengths.first else { return 0 }
    guard lengths.count == 1, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw Refusal("the field Content-Length is malformed")
    }
    guard let length = Int(text) else { throw Refusal("the body is too large", .contentTooLarge) }
    return length
  }

  private static func expectsContinue(_ fields: HTTPFields) throws(Refusal) -> Bool {
    let expectations = fields.list("expect")
    guard expectations.allSatisfy({ $0.asciiLowercased() == "100-continue" }) else {
      throw Refusal("nothing but 100-continue can be expected", .expectationFailed)
    }
    return !expectations.isEmpty
  }

  /// RFC 9110 §5.6.2.
  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}

extension UInt8 {
  fileprivate static let tab: UInt8 = 0x09
  fileprivate static let lineFeed: UInt8 = 0x0A
  fileprivate static let carriageReturn: UInt8 = 0x0D
}
