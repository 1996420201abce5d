import Encodings
import Testing

@Suite("JSON as it is read")
struct JSONReaderTests {
  @Test("Every kind of value, with all spaces and escapes")
  func values() throws {
    let json =
      #" { "s" : "a\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é" , "i":-5,"z":0,"n":[1.5,-1e3,9223372036854775808],"#
      + "\n\"l\":[\"a\",\"b\"],\"e\":[],\"o\":{},\"t\":true,\t\"f\":false,\"u\":null}\r"
    #expect(
      try JSONReader.read(Array(json.utf8))
        == .object([
          "s": .string("a\"\\/\u{8}\u{C}\n\r\tA😀é"), "i": .integer(-5), "z": .integer(0),
          "n": .array([.number, .number, .number]), "l": .array([.string("a"), .string("b")]), "e": .array([]),
          "o": .object([:]), "t": .boolean(true), "f": .boolean(false), "u": .null,
        ]))
  }

  @Test("Strings alone are a list of strings")
  func strings() {
    #expect(JSONValue.array([.string("a"), .string("b")]).strings == ["a", "b"])
    #expect(JSONValue.array([]).strings == [])
    #expect(JSONValue.array([.string("a"), .integer(1)]).strings == nil && JSONValue.string("a").strings == nil)
  }

  @Test(
    "What two readers could understand differently is refused",
    arguments: [
      "", "{", "}", "a", "{}{}", "{}\0", #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#, #"{"a"}"#, #"{"a":}"#, "{a:1}",
      #"{"a":1"#, #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":1}"#, "01", "+1", "-", "1.", ".5", "1e", "1-2", "tru", "truee",
      #"["x",]"#, #"["x""#, #""x"#, #""\""#, #""\x""#, #""\u12""#, #""\ud800""#, #""\ude00\ud83d""#, "\"\n\"", "\"\0\"",
      "\u{FEFF}{}", String(repeating: "[", count: 17) + String(repeating: "]", count: 17),
    ])
  func refused(json: String) {
    #expect(throws: JSONError.self) { try JSONReader.read(Array(json.utf8)) }
  }

  @Test(
    "Invalid UTF-8 is refused, also after an escape",
    arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]])
  func utf8(bytes: [UInt8]) {
    for prefix in ["\"", "\"\\n"] {
      #expect(throws: JSONError.self) { try JSONReader.read(Array(prefix.utf8) + bytes + Array("\"".utf8)) }
    }
  }
}
