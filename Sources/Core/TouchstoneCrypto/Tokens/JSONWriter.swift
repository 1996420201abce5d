internal import Encodings

/// One small object of RFC 7515 to 7519, its members in the order of the calls, without white space: the same members
/// always give the same bytes.
package struct JSONObjectWriter {
  package private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

  package init() {}

  /// Makes room for an object of `count` bytes.
  mutating func reserveCapacity(_ count: Int) {
    bytes.reserveCapacity(count)
  }

  package mutating func write(_ name: StaticString, _ value: String) {
    beginMember(name)
    appendString(value)
  }

  package mutating func write(_ name: StaticString, _ value: Int64) {
    beginMember(name)
    bytes += String(value).utf8
  }

  package mutating func writeTrue(_ name: StaticString) {
    beginMember(name)
    bytes += "true".utf8
  }

  package mutating func write(_ name: StaticString, _ values: [String]) {
    beginMember(name)
    bytes.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      appendString(value)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  package mutating func write(_ name: StaticString, _ object: JSONObjectWriter) {
    beginMember(name)
    bytes += object.finish()
  }

  package mutating func write(_ name: StaticString, _ objects: [JSONObjectWriter]) {
    beginMember(name)
    bytes.append(UInt8(ascii: "["))
    for (index, object) in objects.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += object.finish()
    }
    bytes.append(UInt8(ascii: "]"))
  }

  package consuming func finish() -> [UInt8] {
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  private mutating func beginMember(_ name: StaticString) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes += $0 }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Escapes only what RFC 8259 section 7 requires; all other text stays as UTF-8.
  private mutating func appendString(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { text in
      if text.contains(where: Self.mustEscape) {
        appendEscaped(text)
      } else {
        bytes += text
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        bytes += "\\u00".utf8
        Hexadecimal.append(byte, to: &bytes)
      default:
        bytes.append(byte)
      }
    }
  }
}
