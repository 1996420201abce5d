import Testing
import TouchstonePolicy

@Suite struct IdentifierTests {
  @Test(arguments: [
    ("alice", "alice asked", true), ("alice", "ALICE", true), ("é-1", "of é-1.", true), ("alice", "a licence", false),
    ("al", "al", false), ("alice", "", false),
  ])
  func `a text tells an identifier that stands in it`(id: String, text: String, isTold: Bool) {
    #expect(Identifier.isTold(id, by: text) == isTold)
  }

  @Test(
    "Words: anything of 1 to 128 bytes without control characters",
    arguments: [
      "a", " ", "user@example.com", "用户-1", "ünïcödé", "👩‍👩‍👧‍👦", "a/b?c=d&e", "\u{200B}", "\u{202E}", "\u{2028}", "\u{A0}",
      "À",
      "\u{FEFF}", String(repeating: "a", count: 128), String(repeating: "é", count: 64),
    ])
  func accepted(text: String) {
    #expect(Identifier.violation(in: text) == nil)
  }

  @Test("Words: empty and too long are refused")
  func length() {
    #expect(Identifier.violation(in: "") == "is empty")
    #expect(Identifier.violation(in: String(repeating: "a", count: 129)) == "is longer than 128 bytes")
    #expect(Identifier.violation(in: String(repeating: "é", count: 65)) == "is longer than 128 bytes")
    #expect(Identifier.violation(in: "abcde", maximumBytes: 4) == "is longer than 4 bytes")
  }

  @Test("Words: every control character is refused wherever it stands, and no other character is")
  func controlCharacters() {
    for value in UInt32(0)...0x2FF {
      let character = String(Unicode.Scalar(value)!)
      let isControl = Unicode.Scalar(value)!.properties.generalCategory == .control
      for text in [character, "a\(character)", "\(character)b", "é\(character)é"] {
        #expect((Identifier.violation(in: text) == "contains a control character") == isControl, "U+\(value)")
      }
    }
  }

  @Test("Words: equal is byte for byte, where String folds")
  func equality() {
    #expect("ren\u{E9}" == "rene\u{301}", "why == will not do")
    #expect(!Identifier.areEqual("ren\u{E9}", "rene\u{301}"))
    #expect(!Identifier.areEqual("alice", "Alice"))
    #expect(!Identifier.areEqual("alice", "alice "))
    #expect(Identifier.areEqual("rené", "rené"))
  }
}
