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
  package static func bytes(url text: String) -> [UInt8]? { bytes(url: text.utf8) }

  static func bytes(url text: some Collection<UInt8>) -> [UInt8]? {
    var plain: [UInt8] = []
    plain.reserveCapacity(text.count + 3)
    for character in text {
      switch character {
      case UInt8(ascii: "-"): plain.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): plain.append(UInt8(ascii: "/"))
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
      default: plain.append(character)
      }
    }
    plain += [UInt8](repeating: UInt8(ascii: "="), count: (4 - plain.count % 4) % 4)
    return Data(base64Encoded: Data(plain)).map(Array.init)
  }
}
