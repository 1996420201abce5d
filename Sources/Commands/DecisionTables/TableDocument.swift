/// The parts of a Markdown text that tables need, in order: headings, lists after "Given:", pipe tables. Everything
/// else is prose.
package struct TableDocument: Sendable {
  package enum Block: Sendable {
    /// "## Title": level 2.
    case heading(level: Int, title: String)
    /// The list after a line "Given:", with "- key: value" in each line.
    case given([Given])
    case table(PipeTable)
  }

  package struct Given: Sendable {
    let key: SourceText
    let value: SourceText
  }

  package private(set) var blocks: [Block] = []

  /// Longer than any readable file; keeps a wrong file from taking all memory.
  package static let maximumBytes = 1 << 20
  /// More columns than the longest table of rules has.
  package static let maximumColumns = 32

  package init(_ text: String) throws(TableErrors) {
    guard text.utf8.count <= Self.maximumBytes else {
      let start = TablePosition(line: 1, column: 1)
      throw TableErrors([TableError(position: start, message: "the file is longer than \(Self.maximumBytes) bytes")])
    }
    var reader = DocumentReader(text)
    reader.read()
    guard reader.errors.isEmpty else { throw TableErrors(Array(reader.errors.prefix(TableErrors.maximumCount))) }
    blocks = reader.blocks
  }
}

/// Every row has as many cells as the header.
package struct PipeTable: Sendable {
  package struct Row: Sendable {
    package let position: TablePosition
    let cells: [SourceText]

    /// The cells as people read them: without Markdown's backslashes and backticks.
    package var texts: [String] { cells.map(\.plain) }
  }

  package let header: Row
  package let rows: [Row]
}

extension SourceText {
  /// Without Markdown's markup.
  var plain: String {
    var plain = ""
    var isEscaped = false
    for scalar in text.unicodeScalars {
      isEscaped = scalar == "\\" && !isEscaped
      if !isEscaped && scalar != "`" { plain.unicodeScalars.append(scalar) }
    }
    return plain
  }
}

private struct DocumentReader {
  private(set) var blocks: [TableDocument.Block] = []
  private(set) var errors: [TableError] = []
  private let lines: [SourceText]
  private var next = 0

  init(_ text: String) {
    // By scalars: as a `Character`, a carriage return and a line feed are one, which is neither.
    let parts = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    lines = parts.enumerated().map { index, part in
      let line = String(part.last == "\r" ? part.dropLast() : part)
      return SourceText(line: index + 1, text: line[...])
    }
  }

  mutating func read() {
    while let line = peek() {
      if line.text.hasPrefix("```") || line.text.hasPrefix("~~~") {
        skipCode(fence: String(line.text.prefix(3)))
      } else if line.text.hasPrefix("<!--") {
        skipComment()
      } else if line.text.hasPrefix("#") {
        readHeading()
      } else if line.text.hasPrefix("|") {
        readTable()
      } else if line.text.lowercased() == "given:" {
        readGiven()
      } else {
        next += 1
      }
    }
  }

  /// The next line, trimmed; `nil` at the end.
  private func peek() -> SourceText? {
    next < lines.count ? lines[next].trimmed : nil
  }

  private mutating func take() -> SourceText? {
    defer { next += 1 }
    return peek()
  }

  // MARK: Skipped parts

  private mutating func skipCode(fence: String) {
    guard let start = take() else { return }
    while let line = take() {
      if line.text.hasPrefix(fence) { return }
    }
    errors.append(start.error("this code block has no end"))
  }

  private mutating func skipComment() {
    guard let start = peek() else { return }
    while let line = take() {
      if line.text.hasSuffix("-->") { return }
    }
    errors.append(start.error("this comment has no end: a line that ends with -->"))
  }

  // MARK: Parsed parts

  /// "#hashtag" and seven "#" are prose, as in Markdown.
  private mutating func readHeading() {
    guard let line = take() else { return }
    let level = line.text.prefix { $0 == "#" }.count
    let title = SourceText(line: line.line, text: line.text.dropFirst(level))
    guard level <= 6, title.text.hasPrefix(" ") else { return }
    blocks.append(.heading(level: level, title: title.trimmed.plain))
  }

  private mutating func readGiven() {
    guard let start = take() else { return }
    while let line = peek(), line.isEmpty { next += 1 }
    var given: [TableDocument.Given] = []
    while let line = peek(), !line.isEmpty {
      next += 1
      guard let item = line.dropping(prefix: "- ") ?? line.dropping(prefix: "* ") else {
        errors.append(
          line.error("after \"Given:\" comes a list, \"- word: value\" in each line, and then a blank line"))
        return
      }
      let parts = item.split(at: ":")
      guard parts.count > 1 else {
        errors.append(item.error("a colon is missing: \"- word: value\""))
        continue
      }
      let value = SourceText(line: item.line, text: item.text[parts[1].text.startIndex...])
      given.append(TableDocument.Given(key: parts[0].trimmed, value: value.trimmed))
    }
    if given.isEmpty { errors.append(start.error("nothing is given: \"- word: value\" is missing")) }
    blocks.append(.given(given))
  }

  private mutating func readTable() {
    guard let first = take() else { return }
    guard let header = readRow(first) else { return skipTable() }
    guard header.cells.count <= TableDocument.maximumColumns else {
      errors.append(first.error("the table has more than \(TableDocument.maximumColumns) columns"))
      return skipTable()
    }
    guard let second = take(), isDelimiter(second) else {
      errors.append(first.error("the line below the header is missing: |---|---|"))
      return skipTable()
    }
    var rows: [PipeTable.Row] = []
    while let line = peek(), line.text.hasPrefix("|") {
      next += 1
      guard let row = readRow(line) else { continue }
      guard row.cells.count == header.cells.count else {
        errors.append(line.error("cells in the row: \(row.cells.count), in its header: \(header.cells.count)"))
        continue
      }
      rows.append(row)
    }
    blocks.append(.table(PipeTable(header: header, rows: rows)))
  }

  private mutating func skipTable() {
    while let line = peek(), line.text.hasPrefix("|") { next += 1 }
  }

  private mutating func readRow(_ line: SourceText) -> PipeTable.Row? {
    let parts = line.split(at: "|")
    // Nothing comes before the first bar or after the last one.
    guard parts.count > 2, let last = parts.last, last.isEmpty else {
      errors.append(line.error("the row does not end with |"))
      return nil
    }
    return PipeTable.Row(position: line.position, cells: parts.dropFirst().dropLast().map(\.trimmed))
  }

  private func isDelimiter(_ line: SourceText) -> Bool {
    line.text.hasPrefix("|") && line.text.contains("-") && line.text.allSatisfy { "|-: ".contains($0) }
  }
}
