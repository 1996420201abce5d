// Rows and words as lines of text.

/// Makes every column as wide as its widest cell.
package func aligned(_ rows: [[String]]) -> [String] {
  let widths = rows.reduce(into: [Int]()) { widths, row in
    for (index, cell) in row.enumerated() {
      if index < widths.count { widths[index] = max(widths[index], cell.columns) } else { widths.append(cell.columns) }
    }
  }
  return rows.map { row in
    let cells = row.enumerated().map { index, cell in
      index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.columns)
    }
    return cells.joined(separator: "  ")
  }
}

/// Rows under a heading.
package struct TextTable {
  private let heading: [String]
  private let rows: [[String]]

  /// - Parameter rows: cells that a terminal may show; each row has as many as the heading.
  package init(_ heading: [String], _ rows: [[String]]) {
    self.heading = heading
    self.rows = rows
  }

  package var isEmpty: Bool { rows.isEmpty }

  /// A line for each row, or, if these are too wide, a block of lines for each row: nothing is cut off, so that every
  /// id can be copied.
  ///
  /// - Parameter width: of the terminal; `nil` without one.
  package func lines(width: Int?) -> [String] {
    let lines = aligned([heading] + rows)
    guard let width, lines.contains(where: { $0.columns > width }) else { return lines }
    let blocks = rows.map { row in aligned(zip(heading, row).map { [$0, $1] }) }
    return Array(blocks.joined(separator: [""]))
  }
}

/// Words on one line, or on several if they are too wide for it. Lines after the first are indented.
///
/// - Parameter width: of the terminal; `nil` without one. A word that is wider has a line of its own.
package func wrapped(_ words: [String], width: Int?, indent: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in words {
    let isFirst = line.allSatisfy { $0 == " " }
    if let width, !isFirst, line.columns + 2 + word.columns > width {
      lines.append(line)
      line = String(repeating: " ", count: indent) + word
    } else {
      line += (isFirst ? "" : "  ") + word
    }
  }
  return lines + [line]
}
