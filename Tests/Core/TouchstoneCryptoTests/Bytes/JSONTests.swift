// The claim sets' JSON.

import Encodings
import Testing

@testable import TouchstoneCrypto

@Suite struct JSONTests {
  @Test func `members stand in order, without white space`() {
    var writer = JSONObjectWriter()
    writer.write("b", "x")
    writer.write("a", Int64.min)
    writer.write("c", ["y", "z"])
    writer.write("d", [String]())
    writer.writeTrue("e")
    #expect(
      String(decoding: writer.finish(), as: UTF8.self)
        == #"{"b":"x","a":-9223372036854775808,"c":["y","z"],"d":[],"e":true}"#)
    #expect(JSONObjectWriter().finish() == Array("{}".utf8))
  }

  @Test(arguments: [
    (#"a"b\c/d"#, #"{"s":"a\"b\\c/d"}"#),
    ("\u{0}\u{1}\n\u{1f} ", #"{"s":"\u0000\u0001\u000a\u001f "}"#),
    ("\u{7f}\u{2028}é汉😀", "{\"s\":\"\u{7f}\u{2028}é汉😀\"}"),
    ("", #"{"s":""}"#),
  ])
  func `any text is escaped as RFC 8259 demands and comes back`(text: String, json: String) throws {
    var writer = JSONObjectWriter()
    writer.write("s", text)
    let bytes = writer.finish()
    #expect(bytes == Array(json.utf8))
    #expect(try JSONReader.read(bytes) == .object(["s": .string(text)]))
  }
}
