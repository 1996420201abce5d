// The files of the console's texts.

import Testing
import TouchstonePolicy

@testable import TouchstoneConsole

@Suite("Texts")
struct TextsTests {
  /// Other languages show English where their file lacks a text.
  private static let complete: [Language] = [.english, .simplifiedChinese]

  private static func places(_ text: String) -> Set<Substring> { Set(text.matches(of: #/\{\d\}/#).map(\.output)) }

  @Test(
    "A language has no text that English lacks, and each with the same places to fill in", arguments: Language.allCases)
  func names(language: Language) {
    let (english, own) = (Texts.of(.english).texts, Texts.of(language).texts)
    #expect(Set(own.keys).subtracting(english.keys) == [])
    for (name, text) in own { #expect(Self.places(text) == Self.places(english[name] ?? ""), "\(name)") }
    #expect(own[Phrase.ownName.rawValue] != nil)
  }

  @Test("No text is missing", arguments: complete)
  func missing(language: Language) {
    let texts = Texts.of(language).texts
    #expect(Set(Phrase.allCases.map(\.rawValue)).union(Texts.of(.english).texts.keys).subtracting(texts.keys) == [])
    #expect(texts.values.allSatisfy { !$0.isEmpty })
  }

  @Test("No text is left over: each is a phrase, or its name is put together by the code")
  func leftOver() {
    let actions = Set(
      ConsoleAction.allCases.flatMap { action in
        ConsoleAction.Part.allCases.flatMap { part in [action.rawValue, action.sharedName].map { "\($0).\(part)" } }
      })
    let families = ["event.", "attempt.", "way."]
    for name in Texts.of(.english).texts.keys where !families.contains(where: name.hasPrefix) {
      #expect(Phrase(rawValue: name) != nil || actions.contains(name), "\(name)")
    }
  }

  @Test("A value is put in as it is, and unknown places stay")
  func filling() {
    #expect(Texts.filled("{2}, {1} {3} {x} {", ["{2}", "b"]) == "b, {2} {3} {x} {")
  }

  @Test("Notes and lines without a text are skipped")
  func reading() {
    let file = "# note = none\n\nname = a = b\nalone\n"
    #expect(Texts(Array(file.utf8)).texts == ["name": "a = b"])
  }
}
