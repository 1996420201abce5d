// Words that a person may have meant.

/// Suggests a known word for a mistyped one: returns " (did you mean …?)", or an empty text if no word is near.
package func suggestion(for text: String, among words: [String]) -> String {
  nearest(to: text, among: words).map { " (did you mean \"\($0)\"?)" } ?? ""
}

/// Returns the word that differs from the text by at most two slips; `nil` if there is none.
private func nearest(to text: String, among words: [String]) -> String? {
  /// With more slips it is another word.
  let maximumSlips = 2
  return words.map { (word: $0, slips: slips(from: text, to: $0)) }
    .filter { $0.slips <= maximumSlips && $0.slips < $0.word.count / 2 }
    .min { $0.slips < $1.slips }?.word
}

/// The number of letters added, left out or replaced (Levenshtein distance).
private func slips(from text: String, to word: String) -> Int {
  let word = Array(word.utf8)
  // A longer text differs by too many slips.
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
