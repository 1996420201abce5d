// The forms of names and digests in `applications:`.

internal import Encodings
internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneService

/// A text's form: the value that it stands for, and the words for one that does not have it.
struct TextForm<Value: Hashable>: Sendable {
  /// "an app id".
  let name: String
  /// Follows "must be".
  let form: String
  let read: @Sendable (String) -> Value?
}

enum ProofForms {
  /// A company's apps, their signers, origins or models. Each may be compared with a proof.
  static let maximumElements = 64

  /// The team's ten letters and digits, and the app's bundle id, whose length Apple bounds.
  static var appID: TextForm<String> {
    TextForm(name: "an app id", form: "TEAMID.bundle, such as A1B2C3D4E5.org.example.shop") { text in
      let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
      guard
        parts.count == 2, parts[0].count == 10, parts[0].allSatisfy({ $0.isASCIIDigit || $0.isASCIIUppercase }),
        1...155 ~= parts[1].count, parts[1].allSatisfy({ $0.isName || $0 == UInt8(ascii: ".") })
      else { return nil }
      return text
    }
  }

  static var packageName: TextForm<String> {
    TextForm(name: "a package's name", form: "letters, digits, _ and dots, such as org.example.shop") { text in
      let isName = text.utf8.allSatisfy { ($0.isName && $0 != hyphen) || $0 == UInt8(ascii: ".") || $0 == underscore }
      return 1...255 ~= text.utf8.count && isName ? text : nil
    }
  }

  /// SHA-256 of a signing certificate, as keytool, apksigner and Play print it, or in base64.
  static var signer: TextForm<[UInt8]> {
    TextForm(name: "a signer", form: "the SHA-256 of a signing certificate: 64 hexadecimal digits, or base64") { text in
      let bytes = Hexadecimal.bytes(inEitherCase: text.filter { $0 != ":" }) ?? Base64.decode(text)
      return bytes?.count == AndroidPackage.signerBytes ? bytes : nil
    }
  }

  static var rpID: TextForm<String> {
    TextForm(name: "passkeys.rp_id", form: "a domain in lower case, such as example.org") { isDomain($0) ? $0 : nil }
  }

  static var origin: TextForm<String> {
    TextForm(
      name: "an origin", form: "https://HOST, http://localhost, either with a port, or android:apk-key-hash:DIGEST",
      read: { isOrigin($0) ? $0 : nil })
  }

  /// A page's alone: an app has no frames.
  static var topOrigin: TextForm<String> {
    TextForm(
      name: "a top origin", form: "https://HOST or http://localhost, either with a port",
      read: { isOrigin($0) && !$0.hasPrefix(appOrigin) ? $0 : nil })
  }

  /// As authenticators' makers print it.
  static var aaguid: TextForm<[UInt8]> {
    TextForm(name: "an AAGUID", form: "a UUID such as ee882879-721c-4913-9775-3dfcce97072a") { text in
      let bytes = Hexadecimal.bytes(inEitherCase: text.filter { $0 != "-" })
      return bytes?.count == PasskeyRequirements.aaguidBytes ? bytes : nil
    }
  }

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

extension ValueForm {
  static func text(_ form: TextForm<Value>) -> ValueForm where Value: Sendable {
    ValueForm(.form(form.form)) { $2.text($0.value, form) }
  }

  /// A list of texts of this form, each once.
  static func texts<Element: Sendable>(_ form: TextForm<Element>) -> ValueForm where Value == Set<Element> {
    ValueForm(.list(.form(form.form), 1...ProofForms.maximumElements)) { entry, name, reader in
      var seen: Set<Element> = []
      _ = reader.elements(entry.value, name, atMost: ProofForms.maximumElements) { node, reader in
        guard let value = reader.text(node, form) else { return nil as Element? }
        if !seen.insert(value).inserted { reader.refuse(node.place, "\(form.name) appears twice") }
        return value
      }
      return seen
    }
  }
}

extension SettingReader {
  /// `nil`, and an error noted: the text does not have the form.
  mutating func text<Value>(_ node: YAMLNode, _ form: TextForm<Value>) -> Value? {
    guard let text = text(node, form.name) else { return nil }
    guard let value = form.read(text) else {
      refuse(node.place, "\(form.name) must be \(form.form)")
      return nil
    }
    return value
  }

  /// The readable elements of a list; `nil`, and an error noted: it is none, or has too many or too few.
  mutating func elements<Value>(
    _ node: YAMLNode, _ name: String, atMost count: Int, _ read: (YAMLNode, inout SettingReader) -> Value?
  ) -> [Value]? {
    guard let nodes = list(node, name) else { return nil }
    guard 1...count ~= nodes.count else {
      refuse(node.place, "\(name) must be 1 to \(count)")
      return nil
    }
    return nodes.compactMap { read($0, &self) }
  }
}
