// Texts as JSON has them.

package enum JSONText {
  /// A JSON string, which is also a double-quoted text of YAML 1.2 and safe to print: control characters, line
  /// separators and byte order marks are escaped.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}":
        quoted += "\\u" + Hexadecimal.text([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xFF)])
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
