// An authority for tests: certificates of every kind, the bad ones too, made on the spot.

public import COpenSSL
internal import Synchronization

/// Makes certificates that last for an hour. Names are bytes, so that a test can put anything in.
public final class CertificateAuthority: @unchecked Sendable {
  // Sendable because: nothing is changed after `init`, and OpenSSL's references are counted atomically.

  private let certificate: OpaquePointer
  private let key: TestKey
  /// Between this one and a root: what it issues brings its own certificate along.
  private let isIntermediate: Bool

  public convenience init(
    _ name: String = "Test Authority", key: TestKey.Kind = .p256, notBeforeSeconds: Int = -60,
    notAfterSeconds: Int = 60 * 60
  ) {
    self.init(name, key: key, notBeforeSeconds, notAfterSeconds, issuer: nil)
  }

  private init(
    _ name: String, key kind: TestKey.Kind, _ notBeforeSeconds: Int, _ notAfterSeconds: Int,
    issuer: CertificateAuthority?
  ) {
    key = TestKey.make(kind)
    isIntermediate = issuer != nil
    var request = CertificateRequest(commonName: name)
    request.isAuthority = true
    request.notBeforeSeconds = notBeforeSeconds
    request.notAfterSeconds = notAfterSeconds
    certificate = Self.make(request, of: key, issuer: issuer.map { ($0.certificate, $0.key) })
  }

  deinit {
    X509_free(certificate)
  }

  public func intermediate(
    _ name: String = "Test Intermediate", notBeforeSeconds: Int = -60, notAfterSeconds: Int = 60 * 60
  ) -> CertificateAuthority {
    CertificateAuthority(name, key: .p256, notBeforeSeconds, notAfterSeconds, issuer: self)
  }

  public var der: [UInt8] { IssuedCertificate.der(of: certificate) }

  public var pem: [UInt8] { PEM.bytes { PEM_write_bio_X509($0, certificate) } }

  public func issue(_ request: CertificateRequest, key kind: TestKey.Kind = .p256) -> IssuedCertificate {
    let key = TestKey.make(kind)
    let issued = Self.make(request, of: key, issuer: (certificate, self.key))
    defer { X509_free(issued) }
    return IssuedCertificate(certificate: issued, chain: isIntermediate ? pem : [], key: key)
  }

  /// Its own issuer.
  public static func selfSigned(_ request: CertificateRequest, key kind: TestKey.Kind = .p256) -> IssuedCertificate {
    let key = TestKey.make(kind)
    let certificate = make(request, of: key, issuer: nil)
    defer { X509_free(certificate) }
    return IssuedCertificate(certificate: certificate, chain: [], key: key)
  }

  private static func make(
    _ request: CertificateRequest, of key: TestKey, issuer: (certificate: OpaquePointer, key: TestKey)?
  ) -> OpaquePointer {
    let certificate = X509_new()!
    // Version 3.
    X509_set_version(certificate, 2)
    var serial: UInt64 = .random(in: 1...UInt64(Int64.max))
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial)
    serial = 0
    X509_gmtime_adj(X509_getm_notBefore(certificate), request.notBeforeSeconds)
    X509_gmtime_adj(X509_getm_notAfter(certificate), request.notAfterSeconds)
    X509_set_pubkey(certificate, key.pointer)
    let subject = X509_get_subject_name(certificate)
    for name in request.commonNames {
      X509_NAME_add_entry_by_NID(subject, NID_commonName, name.type, name.bytes, Int32(name.bytes.count), -1, 0)
    }
    X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? subject)
    for (type, value) in request.extensions { add(type, value, to: certificate) }
    for names in request.alternativeNames { add(NID_subject_alt_name, der: names, to: certificate) }
    if let (identifier, content) = request.attestation {
      add(number(of: identifier), der: content, to: certificate)
    }
    let signer = issuer?.key ?? key
    let isSigned = X509_sign(certificate, signer.pointer, signer.digest) > 0
    precondition(isSigned, "a certificate can be signed")
    return certificate
  }

  private static func add(_ type: Int32, _ value: String, to certificate: OpaquePointer) {
    let part = X509V3_EXT_conf_nid(nil, nil, type, value)
    defer { X509_EXTENSION_free(part) }
    let isAdded = X509_add_ext(certificate, part, -1) == 1
    precondition(isAdded, "\(value) is an extension's value")
  }

  private static func add(_ type: Int32, der: [UInt8], to certificate: OpaquePointer) {
    let octets = ASN1_OCTET_STRING_new()
    defer { ASN1_OCTET_STRING_free(octets) }
    ASN1_OCTET_STRING_set(octets, der, Int32(der.count))
    let part = X509_EXTENSION_create_by_NID(nil, type, 0, octets)
    defer { X509_EXTENSION_free(part) }
    X509_add_ext(certificate, part, -1)
  }
}

/// The contents of a certificate to issue.
public struct CertificateRequest: Sendable {
  public struct CommonName: Sendable {
    public var bytes: [UInt8]
    /// `V_ASN1_…`
    public var type: Int32

    public init(_ bytes: [UInt8], type: Int32 = V_ASN1_UTF8STRING) {
      self.bytes = bytes
      self.type = type
    }
  }

  public enum AlternativeName: Sendable {
    case dns([UInt8])
    case uri([UInt8])
    /// 4 or 16 bytes.
    case address([UInt8])

    public static func dns(_ name: String) -> AlternativeName { .dns(Array(name.utf8)) }
    public static func uri(_ name: String) -> AlternativeName { .uri(Array(name.utf8)) }
    public static var loopback: AlternativeName { .address([127, 0, 0, 1]) }
  }

  public enum Usage: String, Sendable {
    case server = "serverAuth"
    case client = "clientAuth"
    case mail = "emailProtection"
  }

  public var commonNames: [CommonName]
  /// DER of the extension; more than one makes it malformed.
  public var alternativeNames: [[UInt8]] = []
  public var usage: Usage?
  /// An extension by its object identifier, in dots, and DER.
  public var attestation: (identifier: String, content: [UInt8])?
  public var isAuthority = false
  /// From now.
  public var notBeforeSeconds = -60
  public var notAfterSeconds = 60 * 60

  public init(commonName: String? = nil, _ names: [AlternativeName] = [], for usage: Usage? = nil) {
    commonNames = commonName.map { [CommonName(Array($0.utf8))] } ?? []
    if !names.isEmpty { alternativeNames = [Self.der(names)] }
    self.usage = usage
  }

  /// GeneralNames (RFC 5280 §4.2.1.6).
  public static func der(_ names: [AlternativeName]) -> [UInt8] {
    let entries = names.flatMap { name in
      switch name {
      case .dns(let bytes): tagged(0x82, bytes)
      case .uri(let bytes): tagged(0x86, bytes)
      case .address(let bytes): tagged(0x87, bytes)
      }
    }
    return tagged(0x30, entries)
  }

  private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      switch count {
      case ..<0x80: [UInt8(count)]
      case ..<0x100: [0x81, UInt8(count)]
      default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
      }
    return [tag] + length + content
  }

  fileprivate var extensions: [(Int32, String)] {
    var extensions = [(NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")]
    if let usage { extensions.append((NID_ext_key_usage, usage.rawValue)) }
    return extensions
  }
}

/// A certificate with what it takes to use it.
public struct IssuedCertificate: Sendable {
  public let der: [UInt8]
  /// The certificate, then those between it and the root.
  public let chainPEM: [UInt8]
  public let keyPEM: [UInt8]
  /// The private key of P-256, 32 bytes; empty of another kind.
  public let scalar: [UInt8]

  fileprivate static func der(of certificate: OpaquePointer) -> [UInt8] {
    var encoded: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509(certificate, &encoded)
    defer { CRYPTO_free(encoded, #file, #line) }
    return Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
  }

  fileprivate init(certificate: OpaquePointer, chain: [UInt8], key: TestKey) {
    der = Self.der(of: certificate)
    scalar = key.scalar
    chainPEM = PEM.bytes { PEM_write_bio_X509($0, certificate) } + chain
    keyPEM = PEM.bytes { PEM_write_bio_PrivateKey($0, key.pointer, nil, nil, 0, nil, nil) }
  }
}

/// OpenSSL's table of identifiers belongs to all threads: the second of two that add one at once would get no number.
private let identifiers = Mutex(())

private func number(of identifier: String) -> Int32 {
  identifiers.withLock { _ in
    let known = OBJ_txt2nid(identifier)
    return known == NID_undef ? OBJ_create(identifier, nil, nil) : known
  }
}
