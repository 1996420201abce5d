// What a row says of its key: the variables, the flags, the schema and the pages follow from it.

internal import TouchstonePolicy

/// The kind of a key's value.
indirect enum ValueShape: Sendable, Hashable {
  case text(bytes: ClosedRange<Int>)
  /// A text whose form the words describe.
  case form(String)
  case word([String])
  case boolean
  case integer(ClosedRange<Int>)
  /// From 0 to 1.
  case share
  case duration(ClosedRange<Duration>)
  /// A duration that may also be in days.
  case age(ClosedRange<Duration>)
  case version
  case path
  case endpoint
  case store
  case list(ValueShape, ClosedRange<Int>)
  case either([ValueShape])
  case section([KeyRow])
  /// From names that the operator chooses.
  case map(ValueShape, atMost: Int)
}

/// The value of a key that is not written.
enum StandardValue: Sendable, Hashable, ExpressibleByStringLiteral {
  /// As the file would have it.
  case value(String)
  /// A value that depends on other things.
  case words(String)

  init(stringLiteral value: String) { self = .value(value) }
}

/// A key's name, kind, default and meaning.
struct KeyRow: Sendable, Hashable {
  fileprivate(set) var name = ""
  let shape: ValueShape
  let standard: StandardValue?
  /// One sentence or two, in Markdown that also reads well as text.
  let meaning: String
  /// Whether its section needs it.
  let isRequired: Bool
  /// Whether its value may be shown, and stand in a list of processes.
  let isSecret: Bool

  init(
    _ shape: ValueShape, default standard: StandardValue? = nil, isRequired: Bool = false, isSecret: Bool = false,
    _ meaning: String
  ) {
    self.shape = shape
    self.standard = standard
    self.meaning = meaning
    self.isRequired = isRequired
    self.isSecret = isSecret
  }

  func named(_ name: String) -> KeyRow {
    var row = self
    row.name = name
    return row
  }
}

extension ValueShape {
  /// One value of the kind, or a list.
  static func oneOrList(_ shape: ValueShape, _ counts: ClosedRange<Int>) -> ValueShape {
    .either([shape, .list(shape, counts)])
  }

  /// Whether a value is one word or text.
  var isScalar: Bool {
    switch self {
    case .list, .section, .map: false
    case .either(let shapes): shapes.allSatisfy(\.isScalar)
    default: true
    }
  }

  /// Whether the text of a variable or a flag is the value itself, and no YAML.
  var takesText: Bool {
    if case .either(let shapes) = self { shapes.first?.isScalar == true } else { isScalar }
  }

  /// Whether a value may be one word or text, and may be several.
  var isOneOrList: Bool {
    guard case .either(let shapes) = self, case .list(let element, _)? = shapes.last else { return false }
    return element.isScalar
  }

  /// The keys of a section, also of one that may be written as a single value.
  var keys: [KeyRow] {
    switch self {
    case .section(let rows): rows
    case .either(let shapes): shapes.flatMap(\.keys)
    default: []
    }
  }

  /// Whether the key has a value of its own, and not only those of its keys.
  var isSetting: Bool {
    if case .section = self { false } else { true }
  }

  /// For people: "a whole number, 1 to 256".
  var words: String {
    switch self {
    case .text: "a text"
    case .form(let form): form
    case .word(let words): words.joined(separator: ", ")
    case .boolean: "true, false"
    case .integer(let bounds): "\(bounds.lowerBound) to \(bounds.upperBound)"
    case .share: "a number from 0 to 1"
    case .duration(let bounds), .age(let bounds): "a time, \(bounds.lowerBound.words) to \(bounds.upperBound.words)"
    case .version: "a version"
    case .path: "a path"
    case .endpoint: Endpoint.form
    case .store: StoreSetting.form
    case .list(let shape, let counts): "a list of \(counts.lowerBound) to \(counts.upperBound): \(shape.words)"
    case .either(let shapes): shapes.map(\.words).joined(separator: "; or ")
    case .section: "a mapping"
    case .map: "a mapping from names"
    }
  }
}

extension Duration {
  /// In days if it is longer than a month.
  fileprivate var words: String {
    let (days, rest) = components.seconds.quotientAndRemainder(dividingBy: 86_400)
    return days > 30 && rest == 0 ? "\(days)d" : settingName
  }
}
