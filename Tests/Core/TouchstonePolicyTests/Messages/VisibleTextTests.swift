import Testing

@testable import TouchstonePolicy

/// What a person is shown must be seen, and in the order in which it is signed.
@Suite struct VisibleTextTests {
  @Test(arguments: [
    "Alice", "Bäckerei Müller & Söhne", "B\u{E4}ckerei", "Ba\u{308}ckerei", "店铺", "می\u{200C}خواهم",
    "क\u{94D}\u{200D}ष", "קפה 7",
    "iPhone ❤️", "👩‍💻’s phone", "👍🏽", "1 234,50 €", "🇨🇳", "1\u{FE0F}\u{20E3}",
    "Line 2\u{20E3}", "#\u{FE0F}\u{20E3}*\u{20E3}",
    "Café ®\u{FE0F}", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} phone",
  ])
  func aTextThatIsSeen(_ text: String) {
    #expect(VisibleText.violation(in: text, bytes: 1...64) == nil)
  }

  @Test(arguments: [
    "\u{7}bell", "a\u{0}b", "two\nlines", "Alice\u{202E}00.1", "\u{2066}Alice", "Alice\u{200E}",
    "Alice\u{2028}Amount: 1.00",
    "Alice\u{2029}x", "A\u{200B}lice", "\u{FEFF}Alice", "Alice\u{E0041}", "A\u{34F}lice", "Alice\u{E000}",
    "Alice\u{F0000}",
    "Alice\u{378}", "\u{200D}", "Alice\u{200D}", "\u{200C}Alice", "A \u{200C}b", "1\u{FE0F}", "a\u{FE0F}",
    "Alice\u{FE00}", "Alice\u{AD}",
    "\u{3164}", "Alice\u{115F}", "Alice\u{1160}", "Alice\u{FFA0}", "Alice\u{17B4}", "Alice\u{180B}", "a\u{2060}b",
    "Alice\u{1D173}",
    "🏴\u{E0067}\u{E007F}", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}",
    "🏴\u{E0067}\u{E0062}\u{E0061}\u{E0062}\u{E0063}\u{E007F}",
    "a\u{20E3}", "\u{20E3}", "Alice \u{20E3}", "1\u{FE0F}\u{20E3}\u{20E3}", "❤\u{FE0F}\u{20E3}", "１\u{20E3}",
    "1\u{301}\u{20E3}", "a\u{FE0F}\u{20E3}", "1\u{FE0F}a\u{20E3}",
    "\u{2800}", "Coffee\u{2800}Bar", "\u{1D159}",
  ])
  func aCharacterThatIsNotSeenIsNamed(_ text: String) throws {
    let reason = try #require(VisibleText.violation(in: text, bytes: 1...64))
    #expect(reason.hasPrefix("has U+"))
  }

  @Test(arguments: [" ", " \u{A0}\u{3000} ", "\u{301}", " \u{301}"]) func aBlankText(_ text: String) {
    #expect(VisibleText.violation(in: text, bytes: 1...64) == "is blank")
  }

  @Test func theLengthIsThatOfItsBytes() {
    #expect(VisibleText.violation(in: "", bytes: 1...64) == "is empty")
    #expect(VisibleText.violation(in: "", bytes: 0...64) == nil)
    #expect(VisibleText.violation(in: "店店店", bytes: 1...8) == "must be 1 to 8 bytes, is 9")
  }

  @Test func aPromptMayHaveLines() {
    #expect(VisibleText.violation(in: "Log in\nto the shop", bytes: 1...64, hasLines: true) == nil)
    #expect(VisibleText.violation(in: "\n \n", bytes: 1...64, hasLines: true) == "is blank")
    #expect(VisibleText.violation(in: "a\tb", bytes: 1...64, hasLines: true) != nil)
  }
}
