import Testing

@testable import TerminalText

@Suite("Texts of strangers")
struct ShownTests {
  @Test(
    "A plain word is shown as it is, and any other text in quotes with escapes",
    arguments: [
      ("anna", "anna"), ("a-1/b", "a-1/b"), ("手机", "手机"), ("", #""""#), ("Anna's phone", #""Anna's phone""#),
      ("a\"b\\", #""a\"b\\""#), ("\u{1B}[2J", #""\u{1B}[2J""#), ("a\nb", #""a\u{A}b""#), ("\u{9B}31m", #""\u{9B}31m""#),
      ("\u{202E}gnp", #""\u{202E}gnp""#), ("a\u{2028}b", #""a\u{2028}b""#), ("\u{0}", #""\u{0}""#),
      ("no\u{A0}break", #""no\u{A0}break""#), ("\u{301}", "\"\u{301}\""),
    ])
  func quoting(text: String, expected: String) {
    #expect(shown(text) == expected)
  }

  @Test("No control character of Unicode's first planes reaches the terminal, in any form")
  func controls() {
    for value in UInt32(0)...0xFFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let isControl = value < 0x20 || (0x7F...0x9F).contains(value) || (0x202A...0x202E).contains(value)
      guard isControl else { continue }
      for text in [shown(String(scalar)), printable(String(scalar)), printable(json: "\"\(scalar)\"")] {
        #expect(!text.unicodeScalars.contains(scalar), "\(value)")
      }
    }
  }

  @Test("A line keeps its spaces and gets no quotes")
  func lines() {
    #expect(printable("is \"not\" set\u{7}") == #"is "not" set\u{7}"#)
  }

  @Test("JSON keeps its meaning")
  func json() {
    #expect(printable(json: #"{"a b":"手机"}"#) == #"{"a b":"手机"}"#)
    #expect(printable(json: "\"\u{7F}\u{202E}\u{E0001}\"") == #""\u007f\u202e\udb40\udc01""#)
  }

  @Test("Wide characters take two cells and marks none", arguments: [("abc", 3), ("手机", 4), ("e\u{301}", 1), ("📱", 2)])
  func columns(text: String, expected: Int) {
    #expect(text.columns == expected)
  }
}
