// `touchstone config schema`: the table as a JSON Schema, for editors and checks before a deployment.

package enum ConfigurationSchema {
  /// Only the service checks rules between several keys, and the form of most texts.
  package static var text: String {
    let head: [PrintedValue.Member] = [
      .init("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
      .init("title", .text("The configuration of Touchstone")),
    ]
    return PrintedValue.object(head + section(ConfigurationTable.rows)).lines()
  }

  private static func section(_ rows: [KeyRow]) -> [PrintedValue.Member] {
    let required = rows.filter(\.isRequired).map { PrintedValue.text($0.name) }
    return [
      .init("type", .text("object")), .init("additionalProperties", .boolean(false)),
      .init("properties", .object(rows.map { .init($0.name, .object(schema(of: $0))) })),
    ] + (required.isEmpty ? [] : [.init("required", .list(required))])
  }

  private static func schema(of row: KeyRow) -> [PrintedValue.Member] {
    var members: [PrintedValue.Member] = []
    if !row.meaning.isEmpty { members.append(.init("description", .text(row.meaning))) }
    if case .value(let text) = row.standard { members.append(.init("default", row.shape.json(of: text))) }
    return members + schema(of: row.shape)
  }

  private static func schema(of shape: ValueShape) -> [PrintedValue.Member] {
    let text = PrintedValue.Member("type", .text("string"))
    switch shape {
    case .text(let bytes): return [text, .init("minLength", .integer(min(1, bytes.lowerBound)))]
    case .form, .path: return [text, .init("minLength", .integer(1))]
    case .word(let words): return [.init("enum", .list(words.map { .text($0) }))]
    case .boolean: return [.init("type", .text("boolean"))]
    case .integer(let bounds):
      return [
        .init("type", .text("integer")), .init("minimum", .integer(bounds.lowerBound)),
        .init("maximum", .integer(bounds.upperBound)),
      ]
    case .share:
      return [.init("type", .text("number")), .init("minimum", .integer(0)), .init("maximum", .integer(1))]
    case .duration: return [text, .init("pattern", .text("^[0-9]+[smh]$"))]
    case .age: return [text, .init("pattern", .text("^[0-9]+[smhd]$"))]
    // 9 and 9.3 are numbers without quotation marks.
    case .version: return [.init("type", .list([.text("string"), .text("number")]))]
    case .endpoint: return [text, .init("pattern", .text("^(unix:.+|.+:[0-9]{1,5})$"))]
    case .store: return [text, .init("pattern", .text(storePattern))]
    case .list(let element, let counts):
      return [
        .init("type", .text("array")), .init("items", .object(schema(of: element))),
        .init("minItems", .integer(counts.lowerBound)), .init("maxItems", .integer(counts.upperBound)),
      ]
    case .either(let shapes): return [.init("anyOf", .list(shapes.map { .object(schema(of: $0)) }))]
    case .section(let rows): return section(rows)
    case .map(let value, let count):
      return [
        .init("type", .text("object")), .init("additionalProperties", .object(schema(of: value))),
        .init("maxProperties", .integer(count)),
      ]
    }
  }

  /// A libpq's URI may begin with either name.
  private static let storePattern = "^(\(StoreSetting.sqliteName)$|(\(StoreSetting.postgresName)|postgres)://)"
}

extension ValueShape {
  /// A value's text as JSON has it.
  func json(of text: String) -> PrintedValue {
    switch self {
    case .integer: Int(text).map { .integer($0) } ?? .text(text)
    case .share: Double(text).map { .number($0) } ?? .text(text)
    case .boolean: ["true": .boolean(true), "false": .boolean(false)][text] ?? .text(text)
    case .either(let shapes): shapes.first?.json(of: text) ?? .text(text)
    default: .text(text)
    }
  }
}
