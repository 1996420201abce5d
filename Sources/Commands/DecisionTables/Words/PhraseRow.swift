// A phrase of the tables as a row: the phrase with its values in braces, and the change that it makes.

import TouchstonePolicy

/// "evaluation failures {2}" reads "evaluation failures 4" and lists "evaluation failures 2" as an example.
struct PhraseRow<Subject>: Sendable {
  typealias Change = @Sendable (inout Subject) -> Void

  let example: String
  /// The words in their places; `nil` for a value.
  private let words: [String?]
  /// The last value takes all words that are left, however few.
  private let takesRest: Bool
  private let change: @Sendable (Phrase, _ places: [Int]) throws(TableError) -> Change

  init(_ pattern: String, _ change: @escaping Change) {
    self.init(pattern) { (_, _) throws(TableError) in change }
  }

  init<Value: Sendable>(
    _ pattern: String, _ value: PhraseValue<Value>, _ set: @escaping @Sendable (inout Subject, Value) -> Void
  ) {
    self.init(pattern) { (phrase, places) throws(TableError) in
      let value = try value.read(phrase, places[0])
      return { set(&$0, value) }
    }
  }

  init<First: Sendable, Second: Sendable>(
    _ pattern: String, _ first: PhraseValue<First>, _ second: PhraseValue<Second>,
    _ set: @escaping @Sendable (inout Subject, First, Second) -> Void
  ) {
    self.init(pattern) { (phrase, places) throws(TableError) in
      let (first, second) = (try first.read(phrase, places[0]), try second.read(phrase, places[1]))
      return { set(&$0, first, second) }
    }
  }

  private init(
    _ pattern: String, reading change: @escaping @Sendable (Phrase, [Int]) throws(TableError) -> Change
  ) {
    var words: [String?] = []
    var takesRest = false
    for word in pattern.split(separator: " ") where !takesRest {
      words.append(word.first == "{" ? nil : String(word))
      takesRest = word.first == "{" && word.last != "}"
    }
    example = pattern.filter { $0 != "{" && $0 != "}" }
    (self.words, self.takesRest, self.change) = (words, takesRest, change)
  }

  /// Returns `nil` for a phrase of another row.
  func read(_ phrase: Phrase) throws(TableError) -> Change? {
    let isAsLong = phrase.words.count == words.count || takesRest && phrase.words.count >= words.count - 1
    guard isAsLong, zip(words, phrase.words).allSatisfy({ $0 == nil || $0 == $1 }) else { return nil }
    return try change(phrase, words.indices.filter { words[$0] == nil })
  }
}

extension Phrase {
  /// Returns the change of the first row that fits; `nil` if none does.
  func change<Subject>(by rows: [PhraseRow<Subject>]) throws(TableError) -> PhraseRow<Subject>.Change? {
    for row in rows {
      if let change = try row.read(self) { return change }
    }
    return nil
  }

  /// - Parameter what: "posture".
  func apply<Subject>(_ rows: [PhraseRow<Subject>], to subject: inout Subject, _ what: String) throws(TableError) {
    guard let change = try change(by: rows) else { throw unknown(what, vocabulary: rows.map(\.example)) }
    change(&subject)
  }
}

// MARK: Values

/// Reads the value that begins at a place of a phrase.
struct PhraseValue<Value: Sendable>: Sendable {
  let read: @Sendable (Phrase, _ place: Int) throws(TableError) -> Value

  init(_ read: @escaping @Sendable (Phrase, _ place: Int) throws(TableError) -> Value) {
    self.read = read
  }

  /// For a value of one word.
  init(_ read: @escaping @Sendable (Phrase) -> (String) throws(TableError) -> Value) {
    self.read = { (phrase, place) throws(TableError) in try read(phrase)(phrase.words[place]) }
  }
}

extension PhraseValue<String> {
  static var word: Self { Self { (phrase, place) in phrase.words[place] } }
}

extension PhraseValue<UInt32> {
  static var number: Self { Self(Phrase.number) }
  static var ordinal: Self { Self(Phrase.ordinal) }
}

extension PhraseValue<Duration> {
  static var duration: Self { Self(Phrase.duration) }
}

extension PhraseValue<Factor> {
  static var factor: Self { Self(Phrase.factor) }
  static var secret: Self { Self(Phrase.secretFactor) }
}

extension PhraseValue<KeyProtection> {
  static var protection: Self { Self(Phrase.keyProtection) }
}

extension PhraseValue<KeyProtections> {
  static var protections: Self {
    Self { (phrase, place) throws(TableError) in
      var protections: KeyProtections = []
      for word in try phrase.list(from: place) { protections.insert(try phrase.keyProtection(word)) }
      return protections
    }
  }
}

extension PhraseValue<ProofLevel> {
  static var level: Self { Self(Phrase.proofLevel) }
}

extension PhraseValue<LAErrorCode> {
  static var code: Self { Self(Phrase.code) }
}

extension PhraseValue<LoginAge> {
  /// "4m old", "31s ahead": the rest of the phrase.
  static var age: Self {
    Self { (phrase, place) throws(TableError) in
      let words = phrase.words
      guard words.count == place + 2, ["old", "ahead"].contains(words[place + 1]) else {
        let kind = words[..<place].joined(separator: " ")
        throw phrase.error("an age is required, as in \"\(kind) 4m old\" or \"\(kind) 31s ahead\"")
      }
      let duration = try phrase.duration(words[place])
      return LoginAge(age: words[place + 1] == "old" ? duration : .zero - duration)
    }
  }
}
