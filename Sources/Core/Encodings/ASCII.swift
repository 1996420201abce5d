// Kinds of ASCII characters, for forms that only few characters may have.

extension UInt8 {
  package var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
  package var isASCIIUppercase: Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self }
  package var isASCIILetter: Bool { isASCIIUppercase || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self }
  package var isASCIILetterOrDigit: Bool { isASCIILetter || isASCIIDigit }

  /// The value of a hexadecimal digit in either case.
  package var hexadecimalValue: UInt8? {
    if isASCIIDigit { return self - UInt8(ascii: "0") }
    let lowercase = self | 0x20
    return UInt8(ascii: "a")...UInt8(ascii: "f") ~= lowercase ? lowercase - UInt8(ascii: "a") + 10 : nil
  }
}

extension StringProtocol {
  /// The text with A to Z in lower case, and nothing else changed: `lowercased()` makes k of the Kelvin sign, so that
  /// what another reader of the same text refuses would be taken.
  package func asciiLowercased() -> String {
    String(decoding: utf8.map { $0.isASCIIUppercase ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
