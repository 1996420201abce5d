package enum JSONValue: Sendable, Hashable {
  case object([String: JSONValue])
  case array([JSONValue])
  case string(String)
  case integer(Int64)
  /// Any other number. None of them counts.
  case number
  case boolean(Bool)
  case null

  /// The elements, if the value is an array of strings alone.
  package var strings: [String]? {
    guard case .array(let values) = self else { return nil }
    var strings: [String] = []
    strings.reserveCapacity(values.count)
    for case .string(let string) in values { strings.append(string) }
    return strings.count == values.count ? strings : nil
  }
}

/// Why bytes are not the JSON that a reader takes.
package struct JSONError: Error, CustomStringConvertible {
  package let description: String
}

/// Reads one value of JSON (RFC 8259) that takes all bytes. Strict: text that two readers could understand differently
/// is refused. Each name of an object stands once, also where an escape writes it.
///
/// A reader that knows which values it expects makes a `JSONReader` of its own, and takes the parts one by one.
package struct JSONReader {
  /// The client data of a browser nests two deep; an extension may add some.
  private static let maximumDepth = 16
  /// Three times what UInt64.max has, for zeros behind a point and an exponent.
  private static let maximumNumberBytes = 64

  private let bytes: [UInt8]
  private var position = 0

  package static func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    var reader = JSONReader(bytes: bytes)
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.isAtEnd else { throw malformed("there are bytes after its end") }
    return value
  }

  package init(bytes: [UInt8]) { self.bytes = bytes }

  package var isAtEnd: Bool { position == bytes.count }

  private static func malformed(_ detail: String) -> JSONError { JSONError(description: detail) }

  // MARK: Values

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < Self.maximumDepth else { throw Self.malformed("nested deeper than \(Self.maximumDepth)") }
    skipSpace()
    switch peek() {
    case UInt8(ascii: "{"): return .object(try object(depth: depth))
    case UInt8(ascii: "["): return .array(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .boolean(true))
    case UInt8(ascii: "f"): return try word("false", .boolean(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return Int64(try number()).map(JSONValue.integer) ?? .number
    }
  }

  private mutating func object(depth: Int) throws(JSONError) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    position += 1
    skipSpace()
    if take("}") { return members }
    repeat {
      skipSpace()
      guard peek() == UInt8(ascii: "\"") else { throw Self.malformed("a name is missing") }
      let name = try string()
      skipSpace()
      guard take(":") else { throw Self.malformed("a colon is missing") }
      guard members.updateValue(try value(depth: depth + 1), forKey: name) == nil else {
        throw Self.malformed("\"\(name)\" twice")
      }
      skipSpace()
    } while take(",")
    guard take("}") else { throw Self.malformed("an object does not end") }
    return members
  }

  private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
    var items: [JSONValue] = []
    position += 1
    skipSpace()
    if take("]") { return items }
    repeat {
      items.append(try value(depth: depth + 1))
      skipSpace()
    } while take(",")
    guard take("]") else { throw Self.malformed("an array does not end") }
    return items
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    guard take(word: word) else { throw Self.malformed("no value of JSON") }
    return value
  }

  /// Returns a number as it is written. §6: no zero before other digits, and digits on both sides of the point; §9: a
  /// reader may bound it.
  package mutating func number() throws(JSONError) -> String {
    let start = position
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    guard position - start <= Self.maximumNumberBytes else {
      throw Self.malformed("a number of more than \(Self.maximumNumberBytes) characters")
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while let byte = peek(), UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
    guard position > start else { throw Self.malformed("no value of JSON") }
  }

  // MARK: Strings

  /// Begins at the quotation mark.
  package mutating func string() throws(JSONError) -> String {
    position += 1
    var start = position
    // What stands before `start`, if an escape does.
    var unescaped: [UInt8] = []
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        let rest = bytes[start..<position]
        position += 1
        let text = String(validating: unescaped.isEmpty ? rest : (unescaped + rest)[...], as: UTF8.self)
        guard let text else { throw Self.malformed("not UTF-8") }
        return text
      case UInt8(ascii: "\\"):
        unescaped += bytes[start..<position]
        position += 1
        unescaped += Array(String(try escaped()).utf8)
        start = position
      case 0..<0x20: throw Self.malformed("a control character")
      default: position += 1
      }
    }
    throw Self.malformed("a string does not end")
  }

  private mutating func escaped() throws(JSONError) -> Unicode.Scalar {
    let byte = peek()
    position += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try scalar()
    default: throw Self.malformed("an escape that JSON does not have")
    }
  }

  /// §7: one code unit of UTF-16, or the two halves of a surrogate pair.
  private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
    let unit = try codeUnit()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard UTF16.isLeadSurrogate(unit), take("\\"), take("u") else { throw Self.malformed("half a surrogate pair") }
    let trail = try codeUnit()
    guard UTF16.isTrailSurrogate(trail) else { throw Self.malformed("half a surrogate pair") }
    return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw Self.malformed("\\u without four hexadecimal digits")
      }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }

  // MARK: Bytes

  package func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

  package mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  package mutating func take(word: StaticString) -> Bool {
    let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[position...].starts(with: expected) else { return false }
    position += expected.count
    return true
  }

  package mutating func skipSpace() {
    while let byte = peek(), byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }
}
