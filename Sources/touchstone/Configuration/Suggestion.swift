// What somebody probably meant who mistyped a word.

/// " (did you mean …?)", or nothing where no word is near.
func suggestion(for text: String, among words: [String]) -> String {
  nearest(to: text, among: words).map { " (did you mean \"\($0)\"?)" } ?? ""
}

/// The word that two slips at most make of the text; `nil` where none is so near.
private func nearest(to text: String, among words: [String]) -> String? {
  /// More are another word: of three letters, two slips leave nothing.
  let maximumSlips = 2
  return words.map { (word: $0, slips: slips(from: text, to: $0)) }
    .filter { $0.slips <= maximumSlips && $0.slips < $0.word.count / 2 }
    .min { $0.slips < $1.slips }?.word
}

/// Letters added, left out or replaced (Levenshtein).
private func slips(from text: String, to word: String) -> Int {
  let word = Array(word.utf8)
  // Beyond this, more slips than are forgiven.
  guard text.utf8.count <= word.count * 2 else { return .max }
  var previous = Array(0...word.count)
  for (row, letter) in text.utf8.enumerated() {
    var current = [row + 1]
    for (column, other) in word.enumerated() {
      let replaced = previous[column] + (letter == other ? 0 : 1)
      current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
    }
    previous = current
  }
  return previous[word.count]
}
