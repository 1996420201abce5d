// How reports show bytes.

internal import FoundationEssentials

package enum Base64 {
  static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// With padding; `nil`: it is not.
  package static func bytes(standard text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Without padding, as WebAuthn writes it.
  package static func url(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var (bits, count) = (0, 0)
    for byte in bytes {
      bits = (bits << 8 | Int(byte)) & 0xFFF
      count += 8
      while count >= 6 {
        count -= 6
        text.append(digits[bits >> count & 0x3F])
      }
    }
    if count > 0 { text.append(digits[bits << (6 - count) & 0x3F]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Without padding, as WebAuthn writes it; `nil`: it is not.
  package static func bytes(url text: String) -> [UInt8]? {
    var plain = ""
    for character in text.utf8 {
      switch character {
      case UInt8(ascii: "-"): plain += "+"
      case UInt8(ascii: "_"): plain += "/"
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
      default: plain.unicodeScalars.append(Unicode.Scalar(character))
      }
    }
    plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: plain).map(Array.init)
  }
}
