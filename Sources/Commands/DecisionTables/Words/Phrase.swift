// The words of a cell: phrases with commas between them, each of a few words with blanks between them.

import TouchstonePolicy

/// "failures 4" of the cell "failures 4, locked".
struct Phrase: Sendable {
  let source: SourceText
  /// The words as written; at least one.
  let words: [String]

  /// The word after the first ones, if the phrase begins with them and has exactly one more.
  func argument(after first: String...) -> String? {
    guard words.count == first.count + 1, words.starts(with: first) else { return nil }
    return words[words.count - 1]
  }

  func error(_ message: String) -> TableError { source.error(message) }

  /// - Parameters:
  ///   - what: "posture".
  ///   - vocabulary: the phrases that are known here.
  func unknown(_ what: String, vocabulary: [String]) -> TableError {
    let known = vocabulary.map { "\"\($0)\"" }.joined(separator: ", ")
    return error("\(source.plain.debugDescription) is no \(what); there are \(known)")
  }
}

extension SourceText {
  /// For an empty cell: none.
  func phrases() throws(TableError) -> [Phrase] {
    if trimmed.isEmpty { return [] }
    var phrases: [Phrase] = []
    for part in split(at: ",") {
      let source = part.trimmed
      let words = source.words.map(\.plain).filter { !$0.isEmpty }
      guard !words.isEmpty else { throw part.error("words are missing before or after a comma") }
      phrases.append(Phrase(source: source, words: words))
    }
    return phrases
  }
}

// MARK: Values of several columns

extension Phrase {
  /// Within a bound that no sum of a row can overflow.
  static let maximumNumber: UInt32 = 1_000_000

  func number(_ text: String) throws(TableError) -> UInt32 {
    guard let number = UInt32(text), number <= Self.maximumNumber, text.first?.isNumber == true else {
      throw error("\(text.debugDescription) is no number from 0 to \(Self.maximumNumber)")
    }
    return number
  }

  func duration(_ text: String) throws(TableError) -> Duration {
    guard let duration = Duration(words: text) else {
      throw error("\(text.debugDescription) is no duration such as 30s, 1m30s, 2h or 90d")
    }
    return duration
  }

  func factor(_ text: String) throws(TableError) -> Factor {
    try value(text, of: "factor") { $0.settingName }
  }

  /// The value whose word this is.
  func value<Value: CaseIterable>(_ text: String, of kind: String, word: (Value) -> String) throws(TableError) -> Value
  {
    guard let value = Value.allCases.first(where: { word($0) == text }) else {
      let known = Value.allCases.map { word($0) }.joined(separator: ", ")
      throw error("\(text.debugDescription) is no \(kind); there are \(known)")
    }
    return value
  }

  /// "biometry + passcode": the words after the first ones, without the plus signs.
  func list(from index: Int) throws(TableError) -> [String] {
    let rest = words.dropFirst(index)
    for (offset, word) in rest.enumerated() where (word == "+") == offset.isMultiple(of: 2) {
      throw error("a list has one + between two words")
    }
    guard !rest.count.isMultiple(of: 2) else { throw error("a list has + between its words, and ends with a word") }
    return rest.filter { $0 != "+" }
  }
}

extension Duration {
  /// A century: no setting is longer, and no time overflows by it.
  static let maximumSeconds: Int64 = 36_525 * 86_400

  private static let units: [(name: String, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]

  /// "1m30s": numbers with units, whole seconds.
  init?(words text: String) {
    var seconds: Int64 = 0
    var rest = text[...]
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(digits.count)
      // Nine digits of days still fit.
      guard digits.count <= 9, let number = Int64(digits), let name = rest.popFirst(),
        let unit = Self.units.first(where: { $0.name == String(name) })
      else { return nil }
      seconds += number * unit.seconds
      guard seconds <= Self.maximumSeconds else { return nil }
    }
    guard !text.isEmpty else { return nil }
    self = .seconds(seconds)
  }

  /// In the notation of `init(words:)`, in the greatest units, rounded up to whole seconds.
  var words: String {
    let (whole, fraction) = components
    var seconds = whole + (fraction > 0 ? 1 : 0)
    if seconds < 0 { return "-\((.seconds(-seconds) as Duration).words)" }
    var words = ""
    for unit in Self.units where seconds >= unit.seconds {
      words += "\(seconds / unit.seconds)\(unit.name)"
      seconds %= unit.seconds
    }
    return words.isEmpty ? "0s" : words
  }
}
