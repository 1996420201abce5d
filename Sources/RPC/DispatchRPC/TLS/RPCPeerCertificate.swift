import COpenSSL

/// The names in a client's verified certificate. A name that is not plain text of its kind is left out as a whole,
/// never cut short: a NUL in the middle must not make "admin" of "admin\0.example.com".
public struct RPCPeerCertificate: Hashable, Sendable {
  /// Subject alternative names of the kind URI, such as `spiffe://example.com/payments`. Printable ASCII.
  public var uris: [String]
  /// Subject alternative names of the kind DNS, in lower case. Printable ASCII.
  public var dnsNames: [String]
  /// The subject's common name; `nil` if there is none or several. UTF-8 without control characters.
  public var commonName: String?
  /// There are subject alternative names, of whatever kind, and whether or not they are plain text: the common name is
  /// then no more than a description (RFC 9525, section 2).
  public var hasAlternativeNames: Bool

  /// - Parameter hasAlternativeNames: those named, or others beside them.
  public init(
    uris: [String] = [], dnsNames: [String] = [], commonName: String? = nil, hasAlternativeNames: Bool = false
  ) {
    self.uris = uris
    self.dnsNames = dnsNames
    self.commonName = commonName
    self.hasAlternativeNames = hasAlternativeNames || !uris.isEmpty || !dnsNames.isEmpty
  }
}

extension RPCPeerCertificate {
  /// More names than any certificate needs; each call looks at them.
  private static let maxNames = 64
  /// The longest that SPIFFE allows for an identifier.
  private static let maxNameBytes = 2_048

  /// Reads a certificate (X.509, DER) and verifies nothing. `nil` when it is malformed: it names no peer then.
  init?(der: UnsafeRawBufferPointer) {
    var next = der.baseAddress?.assumingMemoryBound(to: UInt8.self)
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    guard let start = next, let certificate = d2i_X509(nil, &next, der.count) else { return nil }
    defer { X509_free(certificate) }
    guard next == start + der.count else { return nil }
    self.init(x509: certificate)
  }

  /// `nil` when the names cannot be told: the extension is malformed, there are two of it, or too many names.
  init?(x509 certificate: OpaquePointer) {
    self.init()
    guard readAlternativeNames(of: certificate) else { return nil }
    commonName = Self.commonName(of: certificate)
  }

  private mutating func readAlternativeNames(of certificate: OpaquePointer) -> Bool {
    // -1: there is none. Otherwise without a result: malformed (0 or 1), or there are several (-2).
    var problem: Int32 = 0
    guard let extensions = X509_get_ext_d2i(certificate, NID_subject_alt_name, &problem, nil) else {
      return problem == -1
    }
    let names = OpaquePointer(extensions)
    defer { GENERAL_NAMES_free(names) }
    hasAlternativeNames = true
    let count = OPENSSL_sk_num(names)
    guard count <= Self.maxNames else { return false }
    for index in 0..<count {
      guard let name = OPENSSL_sk_value(names, index) else { return false }
      read(name.assumingMemoryBound(to: GENERAL_NAME.self).pointee)
    }
    return true
  }

  private mutating func read(_ name: GENERAL_NAME) {
    switch name.type {
    case GEN_URI:
      if let uri = Self.text(name.d.uniformResourceIdentifier, Self.isPrintableASCII) { uris.append(uri) }
    case GEN_DNS:
      if let dns = Self.text(name.d.dNSName, Self.isPrintableASCII) { dnsNames.append(dns.lowercased()) }
    default:
      break
    }
  }

  private static func commonName(of certificate: OpaquePointer) -> String? {
    let subject = X509_get_subject_name(certificate)
    let first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard first >= 0, X509_NAME_get_index_by_NID(subject, NID_commonName, first) < 0 else { return nil }
    guard let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)) else { return nil }
    switch ASN1_STRING_type(value) {
    case V_ASN1_UTF8STRING: return text(value, isUTF8WithoutControls)
    case V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING: return text(value) { $0.allSatisfy { (0x20...0x7E).contains($0) } }
    // Two bytes a character, or no agreed alphabet: authorities do not issue such names to programs.
    default: return nil
    }
  }

  /// The whole of it, NUL bytes and all, or nothing.
  private static func text(
    _ string: UnsafePointer<ASN1_STRING>?, _ isAllowed: (UnsafeBufferPointer<UInt8>) -> Bool
  ) -> String? {
    let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string)))
    guard !bytes.isEmpty, bytes.count <= maxNameBytes, isAllowed(bytes) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// No blank either: neither kind of name has one.
  private static func isPrintableASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private static func isUTF8WithoutControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
