// How reports show bytes.

internal import FoundationEssentials

package enum Base64 {
  static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  /// With padding; `nil`: it is not.
  package static func bytes(standard text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }

  /// Without padding, as WebAuthn writes it.
  package static func url(_ bytes: [UInt8]) -> String {
    String(
      text(bytes).compactMap { character in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
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
