// The claim sets' JSON: canonical out, strict in.

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
  func `any text is escaped as RFC 8259 demands and comes back`(text: String, json: String) {
    var writer = JSONObjectWriter()
    writer.write("s", text)
    let bytes = writer.finish()
    #expect(bytes == Array(json.utf8))
    #expect(JSONObjectReader.read(bytes) == ["s": .string(text)])
  }

  @Test func `all that the writer writes is read`() {
    #expect(
      JSONObjectReader.read(Array(#"{"s":"x","i":-5,"z":0,"l":["a","b"],"e":[],"t":true}"#.utf8))
        == [
          "s": .string("x"), "i": .integer(-5), "z": .integer(0), "l": .strings(["a", "b"]), "e": .strings([]),
          "t": .true,
        ])
    #expect(JSONObjectReader.read(Array("{}".utf8)) == [:])
  }

  @Test(arguments: [
    "", "{", "}", "[]", "null", "\"a\"", "{}{}", "{} ", " {}", "{\"a\" :1}",
    #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#, #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, #"{"a":1"#,
    #"{"a":1,"a":1}"#, #"{"a":"x","a":"y"}"#,
    #"{"a":01}"#, #"{"a":-0}"#, #"{"a":+1}"#, #"{"a":1.0}"#, #"{"a":1e3}"#, #"{"a":-}"#, #"{"a":1-2}"#,
    #"{"a":9223372036854775808}"#, #"{"a":tru}"#, #"{"a":truee}"#, #"{"a":false}"#, #"{"a":null}"#, #"{"a":{}}"#,
    #"{"a":[1]}"#, #"{"a":["x",]}"#, #"{"a":["x"}"#, #"{"a":[["x"]]}"#,
    #"{"a":"x}"#, #"{"a":"\"}"#, #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u0041"}"#, #"{"a":"\ud800"}"#,
    "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}",
  ])
  func `other JSON is refused`(json: String) {
    #expect(JSONObjectReader.read(Array(json.utf8)) == nil)
  }

  @Test(arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]] as [[UInt8]])
  func `invalid UTF-8 is refused`(bytes: [UInt8]) {
    #expect(JSONObjectReader.read(Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)) == nil)
  }
}
