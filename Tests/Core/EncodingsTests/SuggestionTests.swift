// A slip in a word is answered with the word that was probably meant.

import Encodings
import Testing

@Suite("Suggestions")
struct SuggestionTests {
  private static let words = ["listen", "limits", "attempts", "keys", "no"]

  @Test(
    "Two slips at most are forgiven, of words that are long enough for them",
    arguments: [
      ("attemps", "attempts"), ("attempst", "attempts"), ("limit", "limits"), ("lisen", "listen"), ("kays", "keys"),
      ("koys_", nil), ("attmps_", nil), ("on", nil), ("", nil), (String(repeating: "attempts", count: 1_000), nil),
    ])
  func slips(text: String, meant: String?) {
    #expect(suggestion(for: text, among: Self.words) == (meant.map { " (did you mean \"\($0)\"?)" } ?? ""))
  }
}
