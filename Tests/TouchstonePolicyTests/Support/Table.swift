// Decision tables: one case a line, what is given before "=>", what must come out behind it, cells parted by "|".

import Testing

struct Case: Sendable, CustomTestStringConvertible {
  let line: String
  let given: [String]
  let expected: [String]

  var testDescription: String { line }
}

/// Blank lines and lines that begin with "#" are for the reader.
func cases(_ table: String) -> [Case] {
  table.split(separator: "\n").map { $0.trimmed }.filter { !$0.isEmpty && !$0.hasPrefix("#") }.map { line in
    let arrow = line.firstRange(of: "=>") ?? line.endIndex..<line.endIndex
    return Case(
      line: String(line), given: cells(line[..<arrow.lowerBound]), expected: cells(line[arrow.upperBound...]))
  }
}

private func cells(_ text: Substring) -> [String] {
  text.split(separator: "|", omittingEmptySubsequences: false).map { String($0.trimmed) }
}

extension StringProtocol {
  var trimmed: SubSequence {
    guard let first = firstIndex(where: { $0 != " " }), let last = lastIndex(where: { $0 != " " }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }

  var words: [String] { split(whereSeparator: { $0 == " " }).map { String($0) } }
}
