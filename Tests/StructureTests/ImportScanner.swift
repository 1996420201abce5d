// Reads the modules that a Swift file imports. SwiftPM lets a target import what its dependencies depend on, so the
// manifest alone does not tell.

enum ImportScanner {
  static func modules(in source: String) -> [String] {
    var found: [String] = []
    var surroundings = Surroundings()
    for line in source.split(separator: "\n") {
      // A regular expression is slow to make; most lines hold no such word.
      for statement in surroundings.code(of: line).split(separator: ";") where statement.contains("import") {
        if let match = statement.prefixMatch(of: importStatement) { found.append(String(match.1)) }
      }
    }
    return found
  }

  /// Computed, because a Regex is not Sendable.
  private static var importStatement: Regex<(Substring, Substring)> {
    #/
    \s* (?:@\w+ (?:\([^)]*\))? \s+)*
    (?:(?:public|package|internal|fileprivate|private) \s+)?
    import \s+
    (?:(?:struct|class|enum|protocol|actor|typealias|func|let|var) \s+)?
    (\w+)
    /#
  }
}

/// Comments and multi-line strings may reach over lines; what looks like an import inside one is none.
private struct Surroundings {
  private var commentDepth = 0
  private var isInString = false

  /// The line without what stands in a comment or in a multi-line string.
  mutating func code(of line: Substring) -> String {
    let isPlain = !isInString && commentDepth == 0
    if isPlain, !["//", "/*", "\"\"\""].contains(where: line.contains) { return String(line) }
    var code = ""
    var rest = line
    while let character = rest.first {
      if isInString {
        isInString = !rest.hasPrefix("\"\"\"")
        rest = rest.dropFirst(isInString ? 1 : 3)
      } else if rest.hasPrefix("/*") {
        commentDepth += 1
        rest = rest.dropFirst(2)
      } else if commentDepth > 0 {
        if rest.hasPrefix("*/") { commentDepth -= 1 }
        rest = rest.dropFirst(rest.hasPrefix("*/") ? 2 : 1)
      } else if rest.hasPrefix("//") {
        return code
      } else if rest.hasPrefix("\"\"\"") {
        isInString = true
        rest = rest.dropFirst(3)
      } else {
        code.append(character)
        rest = rest.dropFirst()
      }
    }
    return code
  }
}
