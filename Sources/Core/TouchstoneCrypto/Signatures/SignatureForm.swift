internal import Encodings

/// The bytes that a phone's key signs of a signing input (R33). The raw value is the API's number.
public enum SignatureForm: UInt8, Sendable, Hashable, CaseIterable {
  /// The signing input itself.
  case raw = 1
  /// Its text in base64url without padding, for wrappers of an app's framework that sign text alone. The text has no
  /// zero byte, and every signing input begins with one, so no message has both forms.
  case base64URLText

  /// The name in events.
  public var name: String {
    switch self {
    case .raw: "raw"
    case .base64URLText: "base64url_text"
    }
  }

  public func message(of signingInput: [UInt8]) -> [UInt8] {
    switch self {
    case .raw: return signingInput
    case .base64URLText:
      var text: [UInt8] = []
      Base64URL.append(signingInput, to: &text)
      return text
    }
  }
}
