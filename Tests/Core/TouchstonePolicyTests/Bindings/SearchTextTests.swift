import Testing
import TouchstonePolicy

@Suite struct SearchTextTests {
  @Test(arguments: [
    ("anna", ["anna"]), (" anna ", [" anna ", "anna"]), ("\"an na\"", ["\"an na\"", "an na"]),
    ("\u{200B}an\u{2060}na\u{FEFF}\r\n", ["\u{200B}an\u{2060}na\u{FEFF}\r\n", "anna"]), ("„anna“", ["„anna“", "anna"]),
    ("o'neill", ["o'neill"]),
  ])
  func `a text is looked for as it was sent, and without what a paste brings`(text: String, candidates: [String]) {
    #expect(SearchText(text).candidates.map { Array($0.utf8) } == candidates.map { Array($0.utf8) })
  }

  @Test(arguments: [
    ("", false, "is empty"), ("\u{200D} \n“”", false, "is empty"), ("a\tb", false, "contains a control character"),
    (String(repeating: "x", count: 2_049), false, "is longer than 2048 bytes"),
    ("ab", true, "must be at least 3 characters for a prefix, is 2"),
    ("  ab  ", true, "must be at least 3 characters for a prefix, is 2"),
    (String(repeating: "x", count: 129), true, "is longer than 128 bytes"),
  ])
  func `a text that can find nothing is refused`(text: String, isPrefix: Bool, reason: String) {
    #expect(SearchText(text).violation(asPrefix: isPrefix) == reason)
  }

  @Test func `as many bytes as a credential's id takes are accepted`() {
    #expect(SearchText(String(repeating: "A", count: 1_364)).violation(asPrefix: false) == nil)
    #expect(SearchText("用户档").violation(asPrefix: true) == nil)
  }
}
