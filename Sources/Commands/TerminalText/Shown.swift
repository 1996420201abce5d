// Texts of strangers, as a terminal may show them.

/// The text as it is if it is one plain word; otherwise in quotes, with escapes.
///
/// Device names and reasons come from other people. Without escapes they could move the cursor, change the terminal's
/// title, or pass for another column. No two texts are shown alike.
package func shown(_ text: String) -> String {
  text.isPlainWord ? text : quoted(text)
}

/// A sentence or a line: as `shown`, but never in quotes.
package func printable(_ line: String) -> String {
  line.unicodeScalars.reduce(into: "") { $0 += $1 == " " || $1.isGraphic ? String($1) : $1.escape }
}

/// A JSON text of one line with JSON's own escapes for what a terminal may not get. Outside of strings it has nothing
/// to escape.
package func printable(json: String) -> String {
  json.unicodeScalars.reduce(into: "") { text, scalar in
    if scalar == " " || scalar.isGraphic {
      text.unicodeScalars.append(scalar)
    } else {
      for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
  }
}

private func quoted(_ text: String) -> String {
  let content = text.unicodeScalars.reduce(into: "") { content, scalar in
    switch scalar {
    case "\"", "\\": content += "\\\(scalar)"
    default: content += scalar == " " || scalar.isGraphic ? String(scalar) : scalar.escape
    }
  }
  return "\"\(content)\""
}

extension String {
  fileprivate var isPlainWord: Bool {
    !isEmpty && unicodeScalars.allSatisfy { $0.isGraphic && $0 != "\"" && $0 != "\\" }
      && unicodeScalars.first?.columns != 0
  }
}

extension Unicode.Scalar {
  /// Whether it shows something of its own: no control, no mark that turns the direction of writing, no space, and no
  /// code point without a character.
  fileprivate var isGraphic: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse, .unassigned:
      false
    default: true
    }
  }

  /// Swift's escape: "\u{1B}".
  fileprivate var escape: String { "\\u{\(String(value, radix: 16, uppercase: true))}" }

  /// How many cells of a terminal it takes: 0 for a mark on another character, 2 for a wide character of East Asia or
  /// an emoji (Unicode Standard Annex 11).
  var columns: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    guard value >= 0x1100 else { return 1 }
    return Self.wide.contains { $0.contains(value) } ? 2 : 1
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x231A...0x231B, 0x23E9...0x23EC, 0x2614...0x2615, 0x2E80...0x303E, 0x3041...0x33FF,
    0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
    0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
  ]
}

extension String {
  /// The cells of a terminal that the text takes.
  package var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }
}
