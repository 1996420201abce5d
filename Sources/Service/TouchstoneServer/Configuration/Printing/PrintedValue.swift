// JSON for output, in an order that its writer chooses.

internal import Encodings

indirect enum PrintedValue: Sendable, Hashable {
  case text(String)
  case integer(Int)
  /// Finite.
  case number(Double)
  case boolean(Bool)
  case list([PrintedValue])
  case object([Member])

  struct Member: Sendable, Hashable {
    var name: String
    var value: PrintedValue

    init(_ name: String, _ value: PrintedValue) {
      self.name = name
      self.value = value
    }
  }

  /// In lines, with two spaces for each level. Short lists stay on one line.
  func lines(indentation: String = "") -> String {
    let inner = indentation + "  "
    switch self {
    case .text(let text): return JSONText.quoted(text)
    case .integer(let number): return "\(number)"
    case .number(let number): return "\(number)"
    case .boolean(let value): return "\(value)"
    case .list(let values):
      let line = "[\(values.map { $0.lines() }.joined(separator: ", "))]"
      guard line.utf8.count > 100 || line.contains("\n") else { return line }
      return "[\n\(values.map { inner + $0.lines(indentation: inner) }.joined(separator: ",\n"))\n\(indentation)]"
    case .object(let members):
      guard !members.isEmpty else { return "{}" }
      let rows = members.map { "\(inner)\(JSONText.quoted($0.name)): \($0.value.lines(indentation: inner))" }
      return "{\n\(rows.joined(separator: ",\n"))\n\(indentation)}"
    }
  }
}
