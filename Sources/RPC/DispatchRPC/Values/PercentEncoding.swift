internal import Encodings

/// The percent-encoding of `grpc-message` (PROTOCOL-HTTP2.md, "Status-Message").
enum PercentEncoding {
  /// The limit of the message's UTF-8 before it is encoded. The message shares its header block with the status, which
  /// must arrive. Encoding makes it at most three times as long.
  static let messageLimitBytes = 1 << 10

  /// Printable ASCII but `%` stays as it is; every other byte of the UTF-8 becomes `%XX`. The message ends at the
  /// limit, never inside of a character.
  static func encode(_ message: String, into output: inout [UInt8]) {
    for byte in message[..<end(of: message)].utf8 {
      if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        output.append(byte)
      } else {
        output.append(UInt8(ascii: "%"))
        output.append(hexDigit(byte >> 4))
        output.append(hexDigit(byte & 0xF))
      }
    }
  }

  /// Never fails: "when decoding invalid values, implementations MUST NOT error", so a stray `%` stands for itself, and
  /// bytes that are not UTF-8 become U+FFFD.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> String {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let high = bytes[index + 1].hexadecimalValue, let low = bytes[index + 2].hexadecimalValue
      {
        output.append(high << 4 | low)
        index += 3
      } else {
        output.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// Returns the end of the part to keep, between two Unicode scalars. (A grapheme cluster may be longer than any
  /// limit.)
  private static func end(of message: String) -> String.Index {
    let utf8 = message.utf8
    guard
      var end = utf8.index(utf8.startIndex, offsetBy: messageLimitBytes, limitedBy: utf8.endIndex)
    else { return utf8.endIndex }
    while end.samePosition(in: message.unicodeScalars) == nil { end = utf8.index(before: end) }
    return end
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
