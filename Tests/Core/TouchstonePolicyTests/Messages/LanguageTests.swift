import Testing

@testable import TouchstonePolicy

@Suite struct LanguageTests {
  // R20, RFC 9110, section 12.5.4
  @Test(arguments: [
    ("en", Language.english), ("zh", .simplifiedChinese), ("zh-CN", .simplifiedChinese), ("zh-SG", .simplifiedChinese),
    ("zh-Hans", .simplifiedChinese), ("ZH-hans-cn", .simplifiedChinese), ("zh-Hans-HK", .simplifiedChinese),
    ("en-GB", .english), ("de", .english), ("", .english), ("*", .english),
    // If there are several, the heaviest is taken; then the first.
    ("de, zh;q=0.8, en;q=0.7", .simplifiedChinese), ("en;q=0.7,zh-CN;q=0.8", .simplifiedChinese),
    ("zh,en", .simplifiedChinese), ("en,zh", .english), ("zh;q=0.001,de", .simplifiedChinese),
    ("zh;q=1.000, en;q=0.999", .simplifiedChinese),
    // A refused language is not taken while there is another.
    ("zh;q=0", .english), ("en;q=0, zh;q=0.1", .simplifiedChinese), ("en;q=0, *", .simplifiedChinese),
    ("en;q=0, *;q=0", .english), ("en;q=0.2, *;q=0.5", .simplifiedChinese), ("zh;q=0.2, *;q=0.5", .english),
    ("zh;q=0.5, *;q=0.1", .simplifiedChinese),
    // White space stands around commas and semicolons alone.
    (" \tzh\t; q=0.9 ,en ;q=0.8", .simplifiedChinese), (",,zh,", .simplifiedChinese), ("zh;Q=0.9", .simplifiedChinese),
  ]) func theMostWantedLanguageThatThereIs(_ field: String, _ language: Language) {
    #expect(Language(acceptLanguage: field) == language)
  }

  // R20
  @Test(arguments: ["zh-TW", "zh-HK", "zh-MO", "zh-Hant", "zh-Hant-CN", "ZH-HANT"])
  func whoReadsTraditionalCharactersIsNotGivenSimplifiedOnes(_ field: String) {
    #expect(Language(acceptLanguage: field) == .english)
  }

  @Test(arguments: [
    "zh;q=1.1", "zh;q=2", "zh;q=0.1234", "zh;q=", "zh;q=-1", "zh;q=.5", "zh;q=0,5x", "zh;q = 1", "zh;level=1", "zh;",
    "zh;q=0x1", "z h", "zh_CN", "zh--CN", "-zh", "zh-toolongasubtag", "zhé", "\u{0}zh", "zh;q=1;q=1",
  ]) func whatIsNotWellFormedIsPassedOver(_ field: String) {
    #expect(Language(acceptLanguage: field) == .english)
    #expect(Language(acceptLanguage: "\(field), zh;q=0.3") == .simplifiedChinese)
  }

  @Test func noFieldIsEnglish() {
    #expect(Language(acceptLanguage: nil) == .english)
  }

  @Test func aFieldWithoutEndIsReadToItsBound() {
    let many = [String](repeating: "de", count: Language.maximumRanges).joined(separator: ",")
    #expect(Language(acceptLanguage: many + ",zh") == .english)
    #expect(Language(acceptLanguage: String(many.dropLast(3)) + ",zh") == .simplifiedChinese)
    #expect(Language(acceptLanguage: String(repeating: "zh;q=0.5,", count: 100_000)) == .simplifiedChinese)
  }
}
