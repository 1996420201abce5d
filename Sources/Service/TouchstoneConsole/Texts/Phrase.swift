// A text of the console in each language.

internal import TouchstonePolicy

/// A text in every language that the console speaks. One that lacks a language does not compile.
struct Phrase: Sendable {
  let english: String
  let simplifiedChinese: String

  init(_ english: String, _ simplifiedChinese: String) {
    self.english = english
    self.simplifiedChinese = simplifiedChinese
  }

  func text(in language: Language) -> String {
    switch language {
    case .english: english
    case .simplifiedChinese: simplifiedChinese
    }
  }
}

extension Language {
  /// As its speakers call it.
  var ownName: String {
    switch self {
    case .english: "English"
    case .simplifiedChinese: "简体中文"
    }
  }
}
