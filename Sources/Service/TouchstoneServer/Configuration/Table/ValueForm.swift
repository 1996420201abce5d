// The forms of values: how one is read and bounded, described, and printed.

internal import SettingFiles
internal import TouchstonePolicy

struct ValueForm<Value>: Sendable {
  typealias Read = @Sendable (YAMLEntry, _ name: String, inout SettingReader) -> Value?

  let shape: ValueShape
  /// Prints a default as the file would have it; `nil`: defaults of this form are described in words.
  private(set) var print: (@Sendable (Value) -> String)?
  /// Returns `nil`, and notes an error, if the value does not have the form.
  let read: Read

  init(_ shape: ValueShape, print: (@Sendable (Value) -> String)? = nil, read: @escaping Read) {
    self.shape = shape
    self.print = print
    self.read = read
  }
}

// MARK: Numbers and times

extension ValueForm where Value == Int {
  static func integer(_ bounds: ClosedRange<Int>) -> ValueForm {
    ValueForm(.integer(bounds), print: { "\($0)" }) { $2.integer($0.value, $1, in: bounds) }
  }
}

extension ValueForm where Value == Double {
  /// From 0 to 1.
  static var share: ValueForm {
    ValueForm(.share, print: { "\($0)" }) { entry, name, reader in
      guard case .scalar(let text) = entry.value.content, let number = Double(text), (0...1).contains(number) else {
        reader.refuse(entry.value.place, "\(name) must be a number from 0 to 1")
        return nil
      }
      return number
    }
  }
}

extension ValueForm where Value == Duration {
  /// A number of seconds.
  static func seconds(_ bounds: ClosedRange<Int>) -> ValueForm {
    ValueForm(.integer(bounds), print: { "\($0.components.seconds)" }) {
      $2.integer($0.value, $1, in: bounds).map { .seconds($0) }
    }
  }

  static func duration(_ bounds: ClosedRange<Duration>) -> ValueForm {
    ValueForm(.duration(bounds), print: { $0.settingName }) { entry, name, reader in
      guard let duration = reader.duration(entry.value, name) else { return nil }
      guard bounds.contains(duration) else {
        reader.refuse(
          entry.value.place, "\(name) must be \(bounds.lowerBound.settingName) to \(bounds.upperBound.settingName)")
        return nil
      }
      return duration
    }
  }

  /// A duration that may also be in days.
  static var age: ValueForm {
    ValueForm(.age(RetentionSettings.ages), print: { "\($0.components.seconds / 86_400)d" }) { entry, name, reader in
      guard let text = reader.text(entry.value, name) else { return nil }
      guard let age = RetentionSettings.age(text) else {
        reader.refuse(entry.value.place, "\(name) must be \(RetentionSettings.form), from 1s to 36525d")
        return nil
      }
      return age
    }
  }
}

// MARK: Words and texts

extension ValueForm where Value == Bool {
  static var boolean: ValueForm { ValueForm(.boolean, print: { "\($0)" }) { $2.boolean($0.value, $1) } }
}

extension ValueForm where Value: Equatable & Sendable {
  static func word(_ words: [(String, Value)]) -> ValueForm {
    ValueForm(.word(words.map(\.0)), print: { value in words.first { $0.1 == value }?.0 ?? "" }) {
      $2.word($0.value, $1, among: words)
    }
  }
}

extension ValueForm where Value: Equatable & Sendable & CaseIterable & RawRepresentable<String> {
  static var word: ValueForm { word(Value.allCases.map { ($0.rawValue, $0) }) }
}

extension ValueForm where Value == String {
  static func text(bytes: ClosedRange<Int>) -> ValueForm {
    ValueForm(.text(bytes: bytes), print: { $0 }) { $2.text($0.value, $1, bytes: bytes) }
  }

  static var path: ValueForm { ValueForm(.path, print: { $0 }) { $2.path($0.value, $1) } }
}

extension ValueForm {
  /// - Parameters:
  ///   - words: describe the form.
  ///   - parse: throws what is wrong with a text.
  static func form(
    _ words: String, _ parse: @escaping @Sendable (String) throws(FormViolation) -> Value
  ) -> ValueForm {
    ValueForm(.form(words)) { entry, name, reader in
      guard let text = reader.text(entry.value, name) else { return nil }
      do throws(FormViolation) {
        return try parse(text)
      } catch {
        reader.refuse(entry.value.place, "\(name) \(error.reason)")
        return nil
      }
    }
  }
}

extension ValueForm {
  /// - Parameter read: returns `nil` for a text that does not have the form.
  static func form(_ words: String, read: @escaping @Sendable (String) -> Value?) -> ValueForm {
    form(words) { text throws(FormViolation) in
      guard let value = read(text) else { throw FormViolation(reason: "must be \(words)") }
      return value
    }
  }
}

extension ValueForm where Value == StoreSetting {
  static var store: ValueForm {
    ValueForm(.store, print: { $0 == .sqlite ? StoreSetting.sqliteName : "" }) { entry, name, reader in
      guard let text = reader.text(entry.value, name) else { return nil }
      do throws(StoreSetting.Malformed) {
        return try StoreSetting(parsing: text)
      } catch {
        reader.refuse(entry.value.place, "\(name) \(error.message)")
        return nil
      }
    }
  }
}

struct FormViolation: Error {
  /// Follows the setting's name.
  let reason: String
}

// MARK: Lists and sections

extension ValueForm where Value == [String] {
  /// One address, or a list.
  static func endpoints(_ counts: ClosedRange<Int>) -> ValueForm {
    ValueForm(.oneOrList(.endpoint, counts), print: { $0.joined(separator: ", ") }) { entry, name, reader in
      let node = entry.value
      guard case .sequence(let nodes) = node.content else { return reader.endpoint(node, name).map { [$0] } }
      guard counts.contains(nodes.count) else {
        reader.refuse(node.place, "\(name) must be \(counts.lowerBound) to \(counts.upperBound)")
        return nil
      }
      return nodes.compactMap { reader.endpoint($0, name) }
    }
  }
}

extension ValueForm {
  /// A list without an order, with each element once.
  ///
  /// - Parameter name: an element's in errors.
  static func set<Element: Sendable>(
    of element: ValueForm<Element>, _ name: String, atMost count: Int
  ) -> ValueForm where Value == Set<Element> {
    ValueForm(.list(element.shape, 1...count)) { entry, list, reader in
      var seen: Set<Element> = []
      return reader.elements(entry.value, list, atMost: count) { node, reader in
        let value = element.read(YAMLEntry(element: node), name, &reader)
        if let value, !seen.insert(value).inserted { reader.refuse(node.place, "\(name) appears twice") }
        return value
      }.map(Set.init)
    }
  }
}

extension ValueForm where Value: ConfigurationSection {
  /// Returns `nil` for a section with mistakes.
  ///
  /// - Parameter place: which an error about a missing key names.
  static func section(lacksAt place: LackPlace = .section) -> ValueForm {
    ValueForm(.section(Value.rows)) { entry, name, reader in
      let count = reader.errors.count
      let section: Value? = reader.section(entry, name, lacksAt: place)
      return reader.errors.count == count ? section : nil
    }
  }

  static var section: ValueForm { section() }
}

extension YAMLEntry {
  /// An element of a list, which has no key.
  init(element node: YAMLNode) {
    self.init(key: YAMLKey(name: "", place: node.place), value: node)
  }
}

extension SettingReader {
  /// The readable elements of a list; `nil`, and an error noted: it is none, or has too many or too few.
  mutating func elements<Value>(
    _ node: YAMLNode, _ name: String, atMost count: Int, _ read: (YAMLNode, inout SettingReader) -> Value?
  ) -> [Value]? {
    guard let nodes = list(node, name) else { return nil }
    guard 1...count ~= nodes.count else {
      refuse(node.place, "\(name) must be a list of 1 to \(count)")
      return nil
    }
    return nodes.compactMap { read($0, &self) }
  }

  mutating func duration(_ node: YAMLNode, _ name: String) -> Duration? {
    guard case .scalar(let text) = node.content, let duration = Duration(settingName: text) else {
      refuse(node.place, "\(name) must be a time such as 30s, 5m or 1h")
      return nil
    }
    return duration
  }

  mutating func version(_ node: YAMLNode, _ name: String) -> OSVersion? {
    guard case .scalar(let text) = node.content, let version = OSVersion(text) else {
      refuse(node.place, "\(name) must be a version such as 9, 9.3 or 9.3.5")
      return nil
    }
    return version
  }

  mutating func endpoint(_ node: YAMLNode, _ name: String) -> String? {
    guard let text = text(node, name) else { return nil }
    do throws(Failure) {
      _ = try Endpoint(parsing: text)
      return text
    } catch {
      refuse(node.place, "\(name) must be \(Endpoint.form)")
      return nil
    }
  }
}
