internal import Encodings

/// The answer of a server that was called.
package struct HTTPAnswer: Sendable {
  package var status: Int
  package var fields: HTTPFields
  package var body: [UInt8]
}

/// Reads one answer of HTTP/1.1 (RFC 9112), and refuses what two readers could understand differently. Pure.
///
/// The body needs a length or comes in chunks: one that ends with the connection could be cut off unseen.
struct ResponseParser {
  struct Malformed: Error, Equatable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
  }

  /// Cookies and policies of a large site.
  static let maximumHeadBytes = 16 << 10
  /// A key set with certificates has some 10 KiB.
  static let maximumBodyBytes = 256 << 10

  private var buffer: [UInt8] = []
  private var head: (status: Int, fields: HTTPFields, length: Int?)?
  private var chunks = ChunkedBody(maximumBytes: maximumBodyBytes)

  /// Returns the answer when it is whole.
  mutating func take(_ bytes: some Collection<UInt8>) throws(Malformed) -> HTTPAnswer? {
    buffer += bytes
    if head == nil {
      guard let end = buffer.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) else {
        guard buffer.count <= Self.maximumHeadBytes else { throw Malformed("the answer's head is too long") }
        return nil
      }
      guard end.upperBound <= Self.maximumHeadBytes else { throw Malformed("the answer's head is too long") }
      head = try Self.head(buffer[..<end.lowerBound])
      buffer.removeFirst(end.upperBound)
    }
    guard let head else { return nil }
    if let length = head.length {
      guard buffer.count >= length else { return nil }
      return HTTPAnswer(status: head.status, fields: head.fields, body: Array(buffer.prefix(length)))
    }
    switch chunks.take(from: &buffer) {
    case .more:
      // A chunk waits in the buffer until it is whole.
      guard buffer.count <= 2 * Self.maximumBodyBytes else { throw Malformed("the answer is too large") }
      return nil
    case .done: return HTTPAnswer(status: head.status, fields: head.fields, body: chunks.bytes)
    case .malformed: throw Malformed("the answer's chunks are malformed")
    case .tooLarge: throw Malformed("the answer is too large")
    }
  }

  private static func head(
    _ bytes: ArraySlice<UInt8>
  ) throws(Malformed) -> (status: Int, fields: HTTPFields, length: Int?) {
    guard bytes.allSatisfy({ $0 == 0x09 || $0 == 0x0D || $0 == 0x0A || (0x20...0x7E).contains($0) || $0 >= 0x80 })
    else { throw Malformed("the answer's head has a control character") }
    var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)[...]
    let start = lines.popFirst()?.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false) ?? []
    guard start.count >= 2, start[0] == "HTTP/1.1", start[1].utf8.count == 3, let status = Int(start[1]),
      (200...599).contains(status)
    else { throw Malformed("the answer is not one of HTTP/1.1") }
    var fields = HTTPFields()
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, !parts[0].utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }),
        !line.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A })
      else { throw Malformed("a field of the answer is malformed") }
      fields.append(String(parts[0]), String(String(parts[1]).trimmed()))
    }
    return (status, fields, try length(fields))
  }

  /// `nil`: it comes in chunks.
  private static func length(_ fields: HTTPFields) throws(Malformed) -> Int? {
    guard fields.values(of: "content-encoding").allSatisfy({ $0 == "identity" }) else {
      throw Malformed("the answer is compressed, which was not asked for")
    }
    let (codings, lengths) = (fields.values(of: "transfer-encoding"), fields.values(of: "content-length"))
    if codings.count == 1, lengths.isEmpty, codings[0].asciiLowercased() == "chunked" { return nil }
    guard codings.isEmpty, lengths.count == 1, (1...9).contains(lengths[0].utf8.count),
      lengths[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(lengths[0])
    else { throw Malformed("the answer has neither one length nor chunks") }
    guard length <= maximumBodyBytes else { throw Malformed("the answer is too large") }
    return length
  }
}
