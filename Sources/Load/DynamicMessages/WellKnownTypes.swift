// Messages that JSON writes in a form of their own: times, wrappers, values of JSON itself, Any.

extension MessageEncoder {
  private static let wrappers: [String: FieldDescriptor.Kind] = [
    "DoubleValue": .double, "FloatValue": .float, "Int64Value": .int64, "UInt64Value": .uint64, "Int32Value": .int32,
    "UInt32Value": .uint32, "BoolValue": .bool, "StringValue": .string, "BytesValue": .bytes,
  ]
  private static let prefix = "google.protobuf."

  /// `nil`: the message is like any other.
  func wellKnown(_ json: JSONValue, _ type: String, _ path: JSONPath) throws(MessageError) -> [UInt8]? {
    guard type.hasPrefix(Self.prefix) else { return nil }
    let name = String(type.dropFirst(Self.prefix.count))
    var writer = WireWriter()
    if let kind = Self.wrappers[name] {
      let content = try scalar(json, kind, path)
      if !content.isZero { writer.add(content, 1) }
      return writer.bytes
    }
    switch name {
    case "Timestamp":
      guard case .string(let text) = json, let time = SecondsAndNanos(timestamp: text) else {
        throw path.error("is no time such as 2026-01-31T12:00:00.5Z")
      }
      return time.bytes
    case "Duration":
      guard case .string(let text) = json, let time = SecondsAndNanos(duration: text) else {
        throw path.error("is no duration such as 1.5s")
      }
      return time.bytes
    case "FieldMask":
      guard case .string(let text) = json else { throw path.error("is no list of fields with commas") }
      for field in text.split(separator: ",") { writer.field(1, Self.snakeCase(field).utf8) }
      return writer.bytes
    case "Struct": return try structure(json, path)
    case "ListValue": return try list(json, path)
    case "Value": return try value(json, path)
    case "Any": return try any(json, path)
    default: return nil
    }
  }

  // MARK: JSON itself

  private func structure(_ json: JSONValue, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    guard case .object(let members) = json else { throw path.error("is no object") }
    var writer = WireWriter()
    for (name, member) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      var entry = WireWriter()
      entry.field(1, name.utf8)
      entry.field(2, try message(member, Self.prefix + "Value", path.member(name)))
      writer.field(1, entry.bytes)
    }
    return writer.bytes
  }

  private func list(_ json: JSONValue, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    guard case .array(let elements) = json else { throw path.error("is no array") }
    var writer = WireWriter()
    for (index, element) in elements.enumerated() {
      writer.field(1, try message(element, Self.prefix + "Value", path.element(index)))
    }
    return writer.bytes
  }

  private func value(_ json: JSONValue, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    var writer = WireWriter()
    switch json {
    case .null: writer.add(.varint(0), 1)
    case .bool(let flag): writer.add(.varint(flag ? 1 : 0), 4)
    case .string(let text): writer.field(3, text.utf8)
    case .object: writer.field(5, try structure(json, path))
    case .array: writer.field(6, try list(json, path))
    case .integer, .unsigned, .number: writer.add(try scalar(json, .double, path), 2)
    }
    return writer.bytes
  }

  // MARK: Any

  /// "@type" names the message, whose fields stand beside it; what has a form of its own stands in "value".
  private func any(_ json: JSONValue, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    guard case .object(var members) = json else { throw path.error("is no object") }
    if members.isEmpty { return [] }
    guard case .string(let url) = members.removeValue(forKey: "@type"), let type = url.split(separator: "/").last else {
      throw path.error("has no \"@type\"")
    }
    let content: [UInt8]
    if members.count == 1, let value = members["value"],
      let bytes = try wellKnown(value, String(type), path.member("value"))
    {
      content = bytes
    } else {
      content = try fields(members, String(type), path)
    }
    var writer = WireWriter()
    writer.field(1, url.utf8)
    if !content.isEmpty { writer.field(2, content) }
    return writer.bytes
  }

  private static func snakeCase(_ path: Substring) -> String {
    path.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : String($1) }
  }
}

/// Timestamp and Duration.
private struct SecondsAndNanos {
  private static let secondsOfTimestamp: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
  private static let secondsOfDuration: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  let seconds: Int64
  let nanos: Int32

  var bytes: [UInt8] {
    var writer = WireWriter()
    if seconds != 0 { writer.add(.signed(seconds), 1) }
    if nanos != 0 { writer.add(.signed(Int64(nanos)), 2) }
    return writer.bytes
  }

  /// "-1.5s"
  init?(duration text: String) {
    guard text.hasSuffix("s") else { return nil }
    var number = text.dropLast()
    let isNegative = number.hasPrefix("-")
    if isNegative { number = number.dropFirst() }
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let seconds = Self.digits(parts[0]), Self.secondsOfDuration.contains(seconds),
      let nanos = parts.count == 2 ? Self.nanos(parts[1]) : 0
    else { return nil }
    self.seconds = isNegative ? -seconds : seconds
    self.nanos = isNegative ? -nanos : nanos
  }

  /// RFC 3339: "2026-01-31T12:00:00.5Z", "2026-01-31T13:00:00+01:00".
  init?(timestamp text: String) {
    let characters = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      range.upperBound <= characters.count ? Self.digits(String(decoding: characters[range], as: UTF8.self)[...]) : nil
    }
    guard characters.count > 19, text.isASCII, characters[4] == 0x2D, characters[7] == 0x2D,
      [0x54, 0x74].contains(characters[10]), characters[13] == 0x3A, characters[16] == 0x3A,
      let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month),
      (1...Self.days(in: month, year)).contains(day), hour < 24, minute < 60, second < 60
    else { return nil }
    var rest = text.dropFirst(19)
    var nanos: Int32 = 0
    if rest.hasPrefix(".") {
      let fraction = rest.dropFirst().prefix { $0.isNumber }
      guard let value = Self.nanos(fraction) else { return nil }
      nanos = value
      rest = rest.dropFirst(1 + fraction.count)
    }
    guard let offset = Self.offset(rest) else { return nil }
    let seconds =
      Self.daysSince1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
    guard Self.secondsOfTimestamp.contains(seconds) else { return nil }
    (self.seconds, self.nanos) = (seconds, nanos)
  }

  /// "Z", "+01:00"; in seconds.
  private static func offset(_ text: Substring) -> Int64? {
    if text == "Z" || text == "z" { return 0 }
    let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard let sign = text.first, "+-".contains(sign), parts.count == 2, parts.allSatisfy({ $0.count == 2 }),
      let hours = digits(parts[0]), let minutes = digits(parts[1]), hours < 24, minutes < 60
    else { return nil }
    return (hours * 3_600 + minutes * 60) * (sign == "-" ? -1 : 1)
  }

  private static func digits(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
  }

  private static func nanos(_ fraction: Substring) -> Int32? {
    guard (1...9).contains(fraction.utf8.count), digits(fraction) != nil else { return nil }
    return Int32(fraction + String(repeating: "0", count: 9 - fraction.count))
  }

  private static func days(in month: Int64, _ year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Counts days of the Gregorian calendar, with years that begin in March.
  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }
}

extension String {
  fileprivate var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
