// The standard alphabet, with padding and without.

import Encodings
import Testing

@Suite struct Base64Tests {
  @Test(
    arguments: [
      ([], ""), ([0], "AA"), ([0xFF], "/w"), ([1, 2], "AQI"), ([1, 2, 3], "AQID"), ([0xFB, 0xEF, 0xBE], "++++"),
    ] as [([UInt8], String)])
  func writesWithoutPaddingAndReadsBoth(_ bytes: [UInt8], text: String) {
    var output: [UInt8] = []
    Base64.append(bytes, to: &output)
    #expect(String(decoding: output, as: UTF8.self) == text)
    #expect(decode(text) == bytes)
    #expect(decode(text + String(repeating: "=", count: (4 - text.count % 4) % 4)) == bytes)
  }

  @Test(arguments: ["A", "AAAAA", "AA=", "A===", "====", "A-==", "AA AA", "AB", "AA=A", "AAAA===="])
  func refuses(_ text: String) {
    #expect(decode(text) == nil)
  }

  @Test func roundTripsEveryLength() {
    for count in 0..<64 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      var output: [UInt8] = []
      Base64.append(bytes, to: &output)
      #expect(output.withUnsafeBytes { Base64.decode($0, padding: .optional) } == bytes)
    }
  }

  private func decode(_ text: String) -> [UInt8]? {
    Base64.decode(text, padding: .optional)
  }

  @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")])
  func padding(_ plain: String, text: String) {
    let bytes = Array(plain.utf8)
    #expect(Base64.encode(bytes) == text)
    #expect(Base64.decode(text) == bytes)
    let bare = text.filter { $0 != "=" }
    #expect(Base64.encode(bytes, isPadded: false) == bare)
    #expect(Base64.decode(bare, padding: .none) == bytes)
    #expect((Base64.decode(bare) == bytes) == (bare == text))
    #expect((Base64.decode(text, padding: .none) == bytes) == (bare == text))
  }

  @Test func alphabet() {
    #expect(Base64.encode([0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF]) == "++++////")
    #expect(Base64.decode("----____") == nil)
  }
}

@Suite("Base64 of either alphabet")
struct EitherAlphabetTests {
  @Test(
    "Both alphabets are read, with padding or without",
    arguments: ["+/8=", "+/8", "-_8=", "-_8"])
  func read(text: String) {
    #expect(Base64.decode(ofEitherAlphabet: text) == [0xFB, 0xFF])
  }

  @Test(
    "Mixed alphabets, wrong padding and unused bits are refused",
    arguments: ["+_8=", "-/8", "-_8==", "-_8===", "-_9", "-_", "-", "=", "====", "-_8 ", "-_é=", "AA==="])
  func refused(text: String) {
    #expect(Base64.decode(ofEitherAlphabet: text) == nil)
  }

  @Test("Nothing is nothing")
  func empty() {
    #expect(Base64.decode(ofEitherAlphabet: "") == [])
  }
}
