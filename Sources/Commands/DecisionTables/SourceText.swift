/// A part of one line. The slice's base is the whole line, which gives its column.
struct SourceText: Sendable {
  let line: Int
  let text: Substring

  var isEmpty: Bool { text.isEmpty }

  var position: TablePosition {
    let scalars = text.base.unicodeScalars
    return TablePosition(line: line, column: scalars.distance(from: scalars.startIndex, to: text.startIndex) + 1)
  }

  func error(_ message: String) -> TableError {
    TableError(position: position, message: message)
  }

  /// Without spaces and tabs at either end.
  var trimmed: SourceText {
    let scalars = text.unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.isBlank }), let last = scalars.lastIndex(where: { !$0.isBlank })
    else { return SourceText(line: line, text: text[text.endIndex...]) }
    return SourceText(line: line, text: Substring(scalars[first...last]))
  }

  /// The parts between separators, including empty ones. A backslash before a separator makes it text, as in Markdown's
  /// tables.
  func split(at separator: Unicode.Scalar) -> [SourceText] {
    let scalars = text.unicodeScalars
    var parts: [SourceText] = []
    var start = scalars.startIndex
    var isEscaped = false
    for index in scalars.indices {
      if scalars[index] == separator && !isEscaped {
        parts.append(SourceText(line: line, text: Substring(scalars[start..<index])))
        start = scalars.index(after: index)
      }
      isEscaped = scalars[index] == "\\" && !isEscaped
    }
    return parts + [SourceText(line: line, text: Substring(scalars[start...]))]
  }

  /// The parts between blanks.
  var words: [SourceText] {
    text.unicodeScalars.split(whereSeparator: \.isBlank).map { SourceText(line: line, text: Substring($0)) }
  }

  /// The text after the prefix, trimmed; `nil` if it does not begin with the prefix.
  func dropping(prefix: String) -> SourceText? {
    guard text.unicodeScalars.starts(with: prefix.unicodeScalars) else { return nil }
    return SourceText(line: line, text: Substring(text.unicodeScalars.dropFirst(prefix.unicodeScalars.count))).trimmed
  }
}

extension Unicode.Scalar {
  var isBlank: Bool { self == " " || self == "\t" }
}
