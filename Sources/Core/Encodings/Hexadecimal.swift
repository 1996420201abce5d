// Bytes and numbers as lower-case hexadecimal digits.

package enum Hexadecimal {
  /// Two digits for each byte.
  package static func text(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      for (place, byte) in bytes.enumerated() {
        text[place * 2] = character(byte >> 4)
        text[place * 2 + 1] = character(byte & 15)
      }
      return bytes.count * 2
    }
  }

  /// Sixteen digits for each number.
  package static func text(_ numbers: [UInt64]) -> String {
    String(unsafeUninitializedCapacity: numbers.count * 16) { text in
      for (place, number) in numbers.enumerated() {
        for digit in 0..<16 { text[place * 16 + digit] = character(UInt8(number >> (60 - 4 * UInt64(digit)) & 15)) }
      }
      return numbers.count * 16
    }
  }

  package static func append(_ byte: UInt8, to text: inout [UInt8]) {
    text.append(character(byte >> 4))
    text.append(character(byte & 15))
  }

  /// `nil` unless the text is pairs of lower-case digits.
  package static func bytes(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { digits in
      guard digits.count.isMultiple(of: 2) else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(digits.count / 2)
      for place in stride(from: 0, to: digits.count, by: 2) {
        guard let high = value(digits[place]), let low = value(digits[place + 1]) else { return nil }
        bytes.append(high << 4 | low)
      }
      return bytes
    }
  }

  /// `nil` unless the text is pairs of digits, in upper or lower case.
  package static func bytes(inEitherCase text: String) -> [UInt8]? {
    bytes(String(decoding: text.utf8.map { (0x41...0x46).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self))
  }

  /// A number of at most sixteen lower-case digits, as Trace Context demands them.
  package static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
    var number: UInt64 = 0
    for digit in digits {
      guard let value = value(digit) else { return nil }
      number = number << 4 | UInt64(value)
    }
    return number
  }

  private static func character(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x57 + digit }

  /// The value of a lower-case digit.
  package static func value(_ character: UInt8) -> UInt8? {
    switch character {
    case 0x30...0x39: character - 0x30
    case 0x61...0x66: character - 0x57
    default: nil
    }
  }
}
