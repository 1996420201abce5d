// A row of the table of keys: it reads, bounds, prints and documents a key, and sets the property that holds its value.

internal import SettingFiles

/// A section of the configuration: a value, and a row for each of its keys.
protocol ConfigurationSection: Sendable {
  /// In the order in which they are read and shown.
  @KeyList<Self> static var keys: [ConfigurationKey<Self>] { get }
  /// Whether errors name a key without its section, because the section is one of several.
  static var keysStandAlone: Bool { get }

  /// The defaults, or placeholders of required values.
  init()
  /// Refuses what is wrong with the keys beside each other.
  mutating func check(_ written: WrittenSection, with reader: inout SettingReader)
}

extension ConfigurationSection {
  static var keysStandAlone: Bool { false }
  static var rows: [KeyRow] { keys.map(\.row) }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {}

  /// By setting, the files that are read.
  func namedFiles(in section: String) -> [(setting: String, path: String)] {
    Self.keys.flatMap { $0.files(self, section) }
  }
}

/// A section as it is written: the entries with known keys.
struct WrittenSection {
  let name: String
  /// The section's, or an element's.
  let entry: YAMLEntry
  let entries: [YAMLEntry]

  func entry(_ key: String) -> YAMLEntry? { entries.first { $0.key.name == key } }
}

@resultBuilder enum KeyList<Section> {
  static func buildExpression(_ key: ConfigurationKey<Section>) -> ConfigurationKey<Section> { key }
  static func buildBlock(_ keys: ConfigurationKey<Section>...) -> [ConfigurationKey<Section>] { keys }
}

/// The place that an error about a missing key names.
enum LackPlace: Sendable {
  case section
  case sectionKey
}

struct ConfigurationKey<Section>: Sendable {
  typealias Read = @Sendable (YAMLEntry, _ name: String, inout Section, inout SettingReader) -> Void

  let row: KeyRow
  /// Whether a change is in force only after a restart.
  let needsRestart: Bool
  /// The words for a missing key, after "needs".
  fileprivate let need: String
  fileprivate let read: Read
  /// Whether two sections have the same value.
  let isSame: @Sendable (Section, Section) -> Bool
  fileprivate let files: @Sendable (Section, _ section: String) -> [(setting: String, path: String)]

  /// A key with a property of its own. An unreadable value leaves the property as it is.
  ///
  /// - Parameters:
  ///   - standard: the default as pages show it; `nil`: the property's, if the form can print it.
  ///   - need: the words for a required key that is missing; `nil`: its name.
  init<Value: Sendable & Equatable>(
    _ name: String, _ form: ValueForm<Value>, to path: any WritableKeyPath<Section, Value> & Sendable,
    default standard: StandardValue? = nil, isRequired: Bool = false, need: String? = nil, needsRestart: Bool = false,
    _ meaning: String
  ) where Section: ConfigurationSection {
    let printed = isRequired ? nil : form.print.map { StandardValue.value($0(Section()[keyPath: path])) }
    self.init(
      KeyRow(form.shape, default: standard ?? printed, isRequired: isRequired, meaning).named(name), need, needsRestart,
      isSame: { $0[keyPath: path] == $1[keyPath: path] }, file: { $0[keyPath: path] as? String },
      read: { entry, name, section, reader in
        if let value = form.read(entry, name, &reader) { section[keyPath: path] = value }
      })
  }

  /// A key whose property is `nil` if it is not written.
  init<Value: Sendable & Equatable>(
    _ name: String, _ form: ValueForm<Value>, to path: any WritableKeyPath<Section, Value?> & Sendable,
    default standard: StandardValue? = nil, isRequired: Bool = false, need: String? = nil,
    needsRestart: Bool = false, _ meaning: String
  ) {
    self.init(
      KeyRow(form.shape, default: standard, isRequired: isRequired, meaning).named(name), need, needsRestart,
      isSame: { $0[keyPath: path] == $1[keyPath: path] }, file: { $0[keyPath: path] as? String },
      read: { entry, name, section, reader in section[keyPath: path] = form.read(entry, name, &reader) })
  }

  /// A key whose value has several places. A reload takes it.
  init<Value>(
    _ name: String, _ form: ValueForm<Value>, default standard: StandardValue? = nil, isRequired: Bool = false,
    isSecret: Bool = false, need: String? = nil, _ meaning: String,
    set: @escaping @Sendable (inout Section, Value) -> Void
  ) {
    self.init(name, form.shape, default: standard, isRequired: isRequired, isSecret: isSecret, need: need, meaning) {
      entry, name, section, reader in
      if let value = form.read(entry, name, &reader) { set(&section, value) }
    }
  }

  /// A key that reads itself. A reload takes it.
  init(
    _ name: String, _ shape: ValueShape, default standard: StandardValue? = nil, isRequired: Bool = false,
    isSecret: Bool = false, need: String? = nil, _ meaning: String, read: @escaping Read
  ) {
    self.init(
      KeyRow(shape, default: standard, isRequired: isRequired, isSecret: isSecret, meaning).named(name), need, false,
      isSame: { _, _ in true },
      file: { _ in nil }, read: read)
  }

  private init(
    _ row: KeyRow, _ need: String?, _ needsRestart: Bool, isSame: @escaping @Sendable (Section, Section) -> Bool,
    file: @escaping @Sendable (Section) -> String?, read: @escaping Read
  ) {
    self.row = row
    self.need = need ?? row.name
    self.needsRestart = needsRestart
    self.isSame = isSame
    self.read = read
    files = { section, prefix in
      guard row.shape == .path else { return [] }
      return file(section).map { [("\(prefix).\(row.name)", $0)] } ?? []
    }
  }
}

extension ConfigurationKey where Section: ConfigurationSection {
  /// A group of keys whose properties are the section's own.
  ///
  /// - Parameter check: refuses what is wrong with them beside each other.
  init(
    group name: String, _ keys: [ConfigurationKey], _ meaning: String,
    check: @escaping @Sendable (WrittenSection, inout SettingReader) -> Void
  ) {
    row = KeyRow(.section(keys.map(\.row)), meaning).named(name)
    (need, needsRestart) = (name, false)
    isSame = { left, right in keys.allSatisfy { $0.isSame(left, right) } }
    files = { section, prefix in keys.flatMap { $0.files(section, "\(prefix).\(name)") } }
    read = { entry, name, section, reader in
      guard let written = reader.read(entry, name, into: &section, by: keys, prefix: "\(name).") else { return }
      check(written, &reader)
    }
  }
}

// MARK: Reading

extension SettingReader {
  /// Reads a section, also one with mistakes; `nil`: it is no mapping.
  mutating func section<Section: ConfigurationSection>(
    _ entry: YAMLEntry, _ name: String, lacksAt place: LackPlace = .section
  ) -> Section? {
    var section = Section()
    let prefix = Section.keysStandAlone ? "" : "\(name)."
    guard let written = read(entry, name, into: &section, by: Section.keys, prefix: prefix) else { return nil }
    for key in Section.keys where key.row.isRequired && written.entry(key.row.name) == nil {
      refuse(place == .section ? entry.value.place : entry.key.place, "\(name) needs \(key.need)")
    }
    section.check(written, with: &self)
    return section
  }

  /// The entries of a mapping from names that the operator chooses, at most as many as there may be.
  mutating func entries(_ node: YAMLNode, _ name: String, atMost count: Int) -> ArraySlice<YAMLEntry> {
    let entries = mapping(node, name) ?? []
    if entries.count > count { refuse(node.place, "\(name) must be at most \(count)") }
    return entries.prefix(count)
  }

  /// In the rows' order, because some keys are read by others' values.
  ///
  /// - Parameter prefix: stands before a key's name in errors.
  mutating func read<Section>(
    _ entry: YAMLEntry, _ name: String, into section: inout Section, by keys: [ConfigurationKey<Section>],
    prefix: String
  ) -> WrittenSection? {
    guard let entries = mapping(entry.value, name, of: keys.map(\.row.name)) else { return nil }
    let written = WrittenSection(name: name, entry: entry, entries: entries)
    for key in keys {
      if let entry = written.entry(key.row.name) { key.read(entry, prefix + key.row.name, &section, &self) }
    }
    return written
  }
}
