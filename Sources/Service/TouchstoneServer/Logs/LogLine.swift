// One line of the log as bytes. Pure.

internal import Encodings
internal import Logging
internal import TouchstonePolicy
internal import TouchstoneService

/// Writes a line of text or a JSON object. A line is one line whatever its values hold: control characters are escaped.
struct LogLine {
  /// The bound of one escaped value. The longest of our own are lists of policies or callers.
  static let maximumValueBytes = 4_096
  /// The bound of one line. Beyond it the rest of the fields is left out, and the line says so.
  static let maximumBytes = 16_384

  /// The object's own keys. A field of the same name gets an underscore behind it.
  private static let ownKeys: Set<String> = ["time", "level", "message", "truncated"]

  private let format: LogSettings.Format
  private(set) var bytes: [UInt8]

  static func bytes(
    _ message: String, _ level: Logger.Level, _ metadata: Logger.Metadata, at time: UnixTime,
    as format: LogSettings.Format
  ) -> [UInt8] {
    bytes(message, level, at: time, as: format) { $0.add(metadata) }
  }

  static func bytes(
    _ message: String, _ level: Logger.Level, _ fields: DecisionFields, at time: UnixTime,
    as format: LogSettings.Format
  ) -> [UInt8] {
    bytes(message, level, at: time, as: format) { line in fields.forEach { line.add($0, $1) } }
  }

  private static func bytes(
    _ message: String, _ level: Logger.Level, at time: UnixTime, as format: LogSettings.Format,
    adding add: (inout LogLine) -> Void
  ) -> [UInt8] {
    var line = LogLine(format)
    line.begin(message, level, at: time)
    add(&line)
    line.end()
    return line.bytes
  }

  private mutating func add(_ metadata: Logger.Metadata) {
    let fields = metadata.count > 1 ? metadata.sorted { $0.key < $1.key } : Array(metadata)
    for (place, (key, value)) in fields.enumerated() {
      guard bytes.count < Self.maximumBytes - Self.maximumValueBytes else {
        return add("truncated", .stringConvertible(fields.count - place))
      }
      add(Self.ownKeys.contains(key) ? key + "_" : key, value)
    }
  }

  private init(_ format: LogSettings.Format) {
    self.format = format
    bytes = []
    // Most lines are shorter.
    bytes.reserveCapacity(320)
  }

  private mutating func begin(_ message: String, _ level: Logger.Level, at time: UnixTime) {
    switch format {
    case .text:
      append(time)
      append(" ")
      bytes += level.rawValue.utf8
      append(" ")
      append(escaping: message)
    case .json:
      append("{\"time\":\"")
      append(time)
      append("\",\"level\":\"")
      bytes += level.rawValue.utf8
      append("\",\"message\":")
      quote(message)
    }
  }

  private mutating func add(_ name: String, _ value: Logger.MetadataValue) {
    if case .stringConvertible(let value) = value, let fields = value as? DecisionFields {
      return fields.forEach { name, value in add(name, value) }
    }
    begin(name)
    switch value {
    case .string(let text): add(text)
    case .stringConvertible(let number as Int): bytes += number.description.utf8
    case .stringConvertible(let number as Double) where number.isFinite: bytes += number.description.utf8
    default: add(value.description)
    }
  }

  private mutating func add(_ name: String, _ value: DecisionFields.Value) {
    begin(name)
    switch value {
    case .text(let text): add(text)
    case .thousandths(let number):
      bytes += (number / 1_000).description.utf8
      append(ascii: ".")
      append(number % 1_000 / 10)
      bytes.append(0x30 + UInt8(number % 10))
    }
  }

  /// - Parameter name: stands in the code, so it needs no escape.
  private mutating func begin(_ name: String) {
    switch format {
    case .text:
      append(ascii: " ")
      bytes += name.utf8
      append(ascii: "=")
    case .json:
      append(",\"")
      bytes += name.utf8
      append("\":")
    }
  }

  /// In quotation marks, unless it is a plain word in text.
  private mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      var (isPlain, isWord) = (utf8.count < Self.maximumValueBytes, format == .text && !utf8.isEmpty)
      for byte in utf8 {
        isPlain = isPlain && Self.isPlain(byte)
        isWord = isWord && byte != 0x20
      }
      guard isPlain else {
        append(ascii: "\"")
        append(escaping: utf8)
        return append(ascii: "\"")
      }
      if !isWord { append(ascii: "\"") }
      bytes.append(contentsOf: utf8)
      if !isWord { append(ascii: "\"") }
    }
  }

  private mutating func end() {
    append(format == .json ? "}\n" : "\n")
  }

  // MARK: Bytes

  private mutating func append(_ text: StaticString) {
    bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private mutating func append(ascii character: Unicode.Scalar) {
    bytes.append(UInt8(ascii: character))
  }

  private mutating func quote(_ text: String) {
    append(ascii: "\"")
    append(escaping: text)
    append(ascii: "\"")
  }

  private mutating func append(escaping text: String) {
    var text = text
    text.withUTF8 { append(escaping: $0) }
  }

  /// As JSON escapes it. Cut at the bound, between characters.
  private mutating func append(escaping utf8: UnsafeBufferPointer<UInt8>) {
    if utf8.count < Self.maximumValueBytes, utf8.allSatisfy(Self.isPlain) { return bytes.append(contentsOf: utf8) }
    let end = bytes.count + Self.maximumValueBytes
    var place = 0
    while place < utf8.count {
      let count = Self.byteCount(ofCharacterAt: utf8[place])
      guard bytes.count + Self.mostEscapedBytes < end else { return append("…") }
      append(character: UnsafeBufferPointer(rebasing: utf8[place..<min(place + count, utf8.count)]))
      place += count
    }
  }

  /// "\u0000", and the mark of a cut.
  private static let mostEscapedBytes = 6 + 3

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// UTF-8's, by the first byte.
  private static func byteCount(ofCharacterAt byte: UInt8) -> Int {
    switch byte {
    case 0xF0...: 4
    case 0xE0...: 3
    case 0xC0...: 2
    default: 1
    }
  }

  private mutating func append(character: UnsafeBufferPointer<UInt8>) {
    guard let first = character.first else { return }
    switch first {
    case UInt8(ascii: "\n"): append("\\n")
    case UInt8(ascii: "\t"): append("\\t")
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case 0..<0x20, 0x7F: appendHex(first)
    // The second set of control characters, which terminals obey, too.
    case 0xC2 where character.count > 1 && character[1] < 0xA0: appendHex(character[1])
    default: append(beyondASCII: character)
    }
  }

  /// Marks that show nothing or turn the direction of a terminal's line are escaped, as UTF-16's units.
  private mutating func append(beyondASCII character: UnsafeBufferPointer<UInt8>) {
    guard let scalar = String(decoding: character, as: UTF8.self).unicodeScalars.first, !VisibleText.isSeen(scalar)
    else {
      bytes += character
      return
    }
    for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
      append("\\u")
      for byte in [UInt8(unit >> 8), UInt8(unit & 0xFF)] { Hexadecimal.append(byte, to: &bytes) }
    }
  }

  private mutating func appendHex(_ byte: UInt8) {
    append("\\u00")
    Hexadecimal.append(byte, to: &bytes)
  }

  // MARK: Time

  /// RFC 3339 in UTC, with milliseconds: "2026-11-24T09:03:09.123Z".
  private mutating func append(_ time: UnixTime) {
    let date = CalendarTime(secondsSince1970: time.seconds)
    append(date.year / 100)
    append(date.year % 100, then: "-")
    append(date.month, then: "-")
    append(date.day, then: "T")
    append(date.hour, then: ":")
    append(date.minute, then: ":")
    append(date.second, then: ".")
    let milliseconds = (time.microseconds - time.seconds * 1_000_000) / 1_000
    append(milliseconds / 10)
    bytes.append(0x30 + UInt8(milliseconds % 10))
    append("Z")
  }

  /// In two digits.
  private mutating func append(_ number: Int64, then separator: Unicode.Scalar? = nil) {
    bytes.append(0x30 + UInt8(number / 10))
    bytes.append(0x30 + UInt8(number % 10))
    if let separator { append(ascii: separator) }
  }
}
