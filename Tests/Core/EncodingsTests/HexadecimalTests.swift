// Digits of bytes and numbers, and texts of JSON.

import Encodings
import Testing

@Suite struct HexadecimalTests {
  @Test func `every byte has two lower-case digits`() {
    let bytes = Array(UInt8.min...UInt8.max)
    let text = Hexadecimal.text(bytes)
    #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
    #expect(Hexadecimal.bytes(text) == bytes)
    #expect(Hexadecimal.bytes(inEitherCase: text.uppercased()) == bytes)
    var appended: [UInt8] = []
    for byte in bytes { Hexadecimal.append(byte, to: &appended) }
    #expect(String(decoding: appended, as: UTF8.self) == text)
  }

  @Test(arguments: ["0", "0g", "0G", "+1", " 1", "００", "0x", "aé"])
  func `what is no pairs of digits is refused`(text: String) {
    #expect(Hexadecimal.bytes(text) == nil)
    #expect(Hexadecimal.bytes(inEitherCase: text) == nil)
  }

  @Test func `only lower case is read unless both are taken`() {
    #expect(Hexadecimal.bytes("0A") == nil)
    #expect(Hexadecimal.bytes(inEitherCase: "0a0A") == [10, 10])
  }

  @Test func `a number has sixteen digits`() {
    #expect(Hexadecimal.text([1, .max] as [UInt64]) == "0000000000000001ffffffffffffffff")
    let number = Array("0fa".utf8).withUnsafeBufferPointer { Hexadecimal.number($0[...]) }
    #expect(number == 250)
    #expect(Array("0F".utf8).withUnsafeBufferPointer { Hexadecimal.number($0[...]) } == nil)
  }
}

@Suite("JSON's texts")
struct JSONTextTests {
  @Test("Strings are escaped as JSON requires, and otherwise stay as they are")
  func strings() {
    #expect(JSONText.quoted("a\"b\\c\n\u{1B}\u{85}\u{2028}\u{FEFF}手") == #""a\"b\\c\n\u001b\u0085\u2028\ufeff手""#)
    #expect(JSONText.quoted("") == "\"\"")
  }
}
