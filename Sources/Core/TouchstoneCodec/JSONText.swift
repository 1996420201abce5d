// Texts, bytes and times as JSON has them.

package enum JSONText {
  /// A JSON string, which is also a double-quoted text of YAML 1.2 and safe to print: control characters, line separators
  /// and byte order marks are escaped.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// RFC 4648 §4, with padding.
  static func base64(_ bytes: some RandomAccessCollection<UInt8>) -> String {
    var text = ""
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var rest = bytes[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * (3 - group.count))
      for place in 0..<4 {
        text.unicodeScalars.append(place > group.count ? "=" : digit(bits >> (18 - 6 * place) & 63))
      }
      rest = rest.dropFirst(3)
    }
    return text
  }

  private static func digit(_ value: UInt32) -> Unicode.Scalar {
    switch value {
    case 0..<26: Unicode.Scalar(UInt8(ascii: "A") + UInt8(value))
    case 26..<52: Unicode.Scalar(UInt8(ascii: "a") + UInt8(value - 26))
    case 52..<62: Unicode.Scalar(UInt8(ascii: "0") + UInt8(value - 52))
    case 62: "+"
    default: "/"
    }
  }
}

extension V1.Timestamp {
  /// The years 1 to 9999.
  private static let representable: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// RFC 3339: "2026-01-31T12:00:00.500Z", "2026-01-31T13:00:00+01:00". `nil` if the time lies outside of the years 1 to 9999.
  ///
  /// - Parameters:
  ///   - offsetMinutes: of the local time from UTC; "Z" for `nil`.
  ///   - hasFraction: if false, fractions of a second are left out.
  package func rfc3339(offsetMinutes: Int64? = nil, hasFraction: Bool = true) -> String? {
    guard Self.representable.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
    let shifted = seconds + (offsetMinutes ?? 0) * 60
    guard Self.representable.contains(shifted) else { return nil }
    let (day, second) = shifted.dividedDown(by: 86_400)
    let date = CivilDate(daysSince1970: day)
    return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
      + "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
      + (hasFraction ? fraction(nanoseconds) : "") + (offsetMinutes.map(Self.offsetText) ?? "Z")
  }

  private static func offsetText(_ minutes: Int64) -> String {
    (minutes < 0 ? "-" : "+") + "\(padded(abs(minutes) / 60, 2)):\(padded(abs(minutes) % 60, 2))"
  }
}

extension V1.Duration {
  /// 10,000 years, as Duration's own comment has it.
  private static let representable: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  /// "60s", "1.500s". `nil` for a duration that protobuf does not admit.
  var json: String? {
    let isNegative = seconds < 0 || nanoseconds < 0
    guard Self.representable.contains(seconds), nanoseconds.magnitude < 1_000_000_000,
      !isNegative || (seconds <= 0 && nanoseconds <= 0)
    else { return nil }
    return (isNegative ? "-" : "") + "\(seconds.magnitude)\(fraction(Int32(clamping: nanoseconds.magnitude)))s"
  }
}

/// In three, six or nine digits; none if it is 0.
private func fraction(_ nanoseconds: Int32) -> String {
  if nanoseconds == 0 { return "" }
  if nanoseconds % 1_000_000 == 0 { return ".\(padded(Int64(nanoseconds / 1_000_000), 3))" }
  if nanoseconds % 1_000 == 0 { return ".\(padded(Int64(nanoseconds / 1_000), 6))" }
  return ".\(padded(Int64(nanoseconds), 9))"
}

private func padded(_ number: Int64, _ digits: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
