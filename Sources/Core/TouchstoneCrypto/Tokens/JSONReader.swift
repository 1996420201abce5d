internal import Encodings

/// The types of a member.
package enum JSONValue: Hashable {
  case string(String)
  case integer(Int64)
  case strings([String])
  case `true`
}

/// Reads one object in the writer's form. Its input is signed, so this service wrote it and leniency has no use. White
/// space, other escapes, a repeated name, a fraction or a nested object make it unreadable.
package struct JSONObjectReader {
  /// `nil` unless `bytes` are one object and nothing after it.
  package static func read(_ bytes: [UInt8]) -> [String: JSONValue]? {
    var reader = JSONObjectReader(bytes: bytes)
    guard let members = reader.takeObject(), reader.position == bytes.count else { return nil }
    return members
  }

  private let bytes: [UInt8]
  private var position = 0

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private mutating func takeObject() -> [String: JSONValue]? {
    guard take("{") else { return nil }
    var members: [String: JSONValue] = [:]
    if take("}") { return members }
    repeat {
      guard
        let name = takeString(), take(":"), let value = takeValue(),
        members.updateValue(value, forKey: name) == nil
      else { return nil }
    } while take(",")
    return take("}") ? members : nil
  }

  private mutating func takeValue() -> JSONValue? {
    switch peek() {
    case UInt8(ascii: "\""): takeString().map(JSONValue.string)
    case UInt8(ascii: "["): takeStrings().map(JSONValue.strings)
    case UInt8(ascii: "t"): takeTrue()
    default: takeInteger().map(JSONValue.integer)
    }
  }

  private mutating func takeTrue() -> JSONValue? {
    take("t") && take("r") && take("u") && take("e") ? .true : nil
  }

  private mutating func takeStrings() -> [String]? {
    guard take("[") else { return nil }
    var strings: [String] = []
    if take("]") { return strings }
    repeat {
      guard let string = takeString() else { return nil }
      strings.append(string)
    } while take(",")
    return take("]") ? strings : nil
  }

  /// No sign but minus, no leading zero, no fraction, no exponent, within 64 bits.
  private mutating func takeInteger() -> Int64? {
    let start = position
    while let byte = peek(), byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
      position += 1
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let value = Int64(text), String(value) == text else { return nil }
    return value
  }

  private mutating func takeString() -> String? {
    guard take("\"") else { return nil }
    var unescaped: [UInt8] = []
    var plainStart = position
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        unescaped += bytes[plainStart..<position]
        position += 1
        return String(validating: unescaped, as: UTF8.self)
      case UInt8(ascii: "\\"):
        unescaped += bytes[plainStart..<position]
        guard let character = takeEscape() else { return nil }
        unescaped.append(character)
        plainStart = position
      case 0..<0x20:
        return nil
      default:
        position += 1
      }
    }
    return nil
  }

  /// `\"`, `\\`, or `\u00` and two hexadecimal digits for a control character.
  private mutating func takeEscape() -> UInt8? {
    guard take("\\") else { return nil }
    if take("\"") { return UInt8(ascii: "\"") }
    if take("\\") { return UInt8(ascii: "\\") }
    guard take("u"), take("0"), take("0"), let high = takeHexDigit(), let low = takeHexDigit(), high < 2 else {
      return nil
    }
    return high << 4 | low
  }

  private mutating func takeHexDigit() -> UInt8? {
    guard let byte = peek(), let digit = Hexadecimal.value(byte) else { return nil }
    position += 1
    return digit
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private func peek() -> UInt8? {
    position < bytes.count ? bytes[position] : nil
  }
}
