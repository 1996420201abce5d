// The forms of names and digests in `applications:`.

internal import Encodings
internal import TouchstoneAttestation
internal import TouchstoneService

enum ProofForms {
  /// A company's apps, their signers, origins or models. Each may be compared with a proof.
  static let maximumElements = 64

  /// The team's ten letters and digits, and the app's bundle id, whose length Apple bounds.
  static var appIDs: ValueForm<Set<String>> {
    several("an app id", "TEAMID.bundle, such as A1B2C3D4E5.org.example.shop") { text in
      let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
      guard
        parts.count == 2, parts[0].count == 10, parts[0].allSatisfy({ $0.isASCIIDigit || $0.isASCIIUppercase }),
        1...155 ~= parts[1].count, parts[1].allSatisfy({ $0.isName || $0 == UInt8(ascii: ".") })
      else { return nil }
      return text
    }
  }

  static var packageName: ValueForm<String> {
    .form(
      "letters, digits, _ and dots, such as org.example.shop",
      read: { text in
        let isName = text.utf8.allSatisfy { ($0.isName && $0 != hyphen) || $0 == UInt8(ascii: ".") || $0 == underscore }
        return 1...255 ~= text.utf8.count && isName ? text : nil
      })
  }

  /// SHA-256 of a signing certificate, as keytool, apksigner and Play print it, or in base64.
  static var signers: ValueForm<Set<[UInt8]>> {
    several("a signer", "the SHA-256 of a signing certificate: 64 hexadecimal digits, or base64") { text in
      let bytes = Hexadecimal.bytes(inEitherCase: text.filter { $0 != ":" }) ?? Base64.decode(text)
      return bytes?.count == AndroidPackage.signerBytes ? bytes : nil
    }
  }

  static var rpID: ValueForm<String> {
    .form("a domain in lower case, such as example.org", read: { isDomain($0) ? $0 : nil })
  }

  static var origins: ValueForm<Set<String>> {
    several("an origin", "https://HOST, http://localhost, either with a port, or android:apk-key-hash:DIGEST") {
      isOrigin($0) ? $0 : nil
    }
  }

  /// A page's alone: an app has no frames.
  static var topOrigins: ValueForm<Set<String>> {
    several("a top origin", "https://HOST or http://localhost, either with a port") {
      isOrigin($0) && !$0.hasPrefix(appOrigin) ? $0 : nil
    }
  }

  /// As authenticators' makers print it.
  static var aaguids: ValueForm<Set<[UInt8]>> {
    several("an AAGUID", "a UUID such as ee882879-721c-4913-9775-3dfcce97072a") { text in
      let bytes = Hexadecimal.bytes(inEitherCase: text.filter { $0 != "-" })
      return bytes?.count == PasskeyRequirements.aaguidBytes ? bytes : nil
    }
  }

  private static func several<Element: Sendable>(
    _ name: String, _ form: String, _ read: @escaping @Sendable (String) -> Element?
  ) -> ValueForm<Set<Element>> { .set(of: .form(form, read: read), name, atMost: maximumElements) }

  private static let appOrigin = "android:apk-key-hash:"

  private static func isOrigin(_ text: String) -> Bool {
    if text.hasPrefix(appOrigin) {
      return Base64URL.decode(String(text.dropFirst(appOrigin.count)))?.count == AndroidPackage.signerBytes
    }
    let (https, http) = ("https://", "http://")
    guard text.hasPrefix(https) || text.hasPrefix(http) else { return false }
    let rest = text.dropFirst(text.hasPrefix(https) ? https.count : http.count)
    let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard let port = UInt16(parts[1]), port > 0, String(port) == parts[1] else { return false }
    }
    return text.hasPrefix(https) ? isDomain(String(parts[0])) : parts[0] == "localhost"
  }

  /// Other scripts are written as xn--.
  private static func isDomain(_ text: String) -> Bool { HostName.isValid(text, with: "-") }

  fileprivate static let hyphen = UInt8(ascii: "-")
  private static let underscore = UInt8(ascii: "_")
}

extension UInt8 {
  /// Letters, digits and the hyphen.
  fileprivate var isName: Bool { isASCIILetterOrDigit || self == ProofForms.hyphen }
}
