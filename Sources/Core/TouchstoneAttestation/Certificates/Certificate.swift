internal import COpenSSL
internal import Crypto
internal import Encodings
internal import SwiftASN1

/// An X.509 certificate (RFC 5280), by OpenSSL.
package struct Certificate: Sendable {
  /// Phones' are up to 3 KB.
  package static let maximumBytes = 16_384
  /// Each is compared with each. Phones' and authenticators' have up to a dozen.
  private static let maximumExtensions = 64

  package let der: [UInt8]
  private let x509: X509Box

  /// Freed once. Nothing changes a certificate after `d2i_X509`; what OpenSSL derives from it later, it locks.
  private final class X509Box: @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { X509_free(pointer) }
  }

  package init(der: [UInt8]) throws(ProofError) {
    guard der.count <= Self.maximumBytes else {
      throw ProofError(.malformedCertificate, "\(der.count) bytes, more than \(Self.maximumBytes)")
    }
    try PublicKey.requireNamedCurve(in: der)
    let pointer = der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      let certificate = d2i_X509(nil, &next, buffer.count)
      guard let certificate, next == buffer.baseAddress.map({ $0 + buffer.count }) else {
        X509_free(certificate)
        ERR_clear_error()
        return OpaquePointer?.none
      }
      return certificate
    }
    guard let pointer else { throw ProofError(.malformedCertificate, "not a certificate in DER") }
    self.der = der
    x509 = X509Box(pointer)
    // OpenSSL reads lengths that are not the shortest, too: one certificate would have many forms.
    _ = try DERNode(der, or: .malformedCertificate)
    // Extensions that cannot be read are found now.
    guard X509_get_extension_flags(pointer) & UInt32(EXFLAG_INVALID) == 0 else {
      ERR_clear_error()
      throw ProofError(.malformedCertificate, "an extension cannot be read")
    }
    guard X509_get_ext_count(pointer) <= Self.maximumExtensions else {
      throw ProofError(.malformedCertificate, "more than \(Self.maximumExtensions) extensions")
    }
    guard hasEachExtensionOnce else { throw ProofError(.malformedCertificate, "an extension twice") }
  }

  /// RFC 5280 §4.2. OpenSSL sees to it for the extensions that it reads, and not for those of Apple, Google and FIDO.
  private var hasEachExtensionOnce: Bool {
    for index in 0..<X509_get_ext_count(x509.pointer) {
      let object = X509_EXTENSION_get_object(X509_get_ext(x509.pointer, index))
      if X509_get_ext_by_OBJ(x509.pointer, object, index) >= 0 { return false }
    }
    return true
  }

  /// One certificate in PEM, or several; whatever else stands there is passed over.
  package static func readPEM(_ text: String) throws(ProofError) -> [Certificate] {
    let documents = Self.documents(inPEM: Array(text.utf8))
    guard !documents.isEmpty else { throw ProofError(.malformedCertificate, "no certificate in PEM") }
    var certificates: [Certificate] = []
    for document in documents { certificates.append(try Certificate(der: document)) }
    return certificates
  }

  private static func documents(inPEM text: [UInt8]) -> [[UInt8]] {
    // The BIO keeps the pointer.
    text.withUnsafeBytes { text in
      guard let input = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else { return [] }
      defer {
        BIO_free(input)
        // At the end it finds no more begin lines.
        ERR_clear_error()
      }
      var documents: [[UInt8]] = []
      var bytes: UnsafeMutablePointer<UInt8>?
      var count = 0
      // Without a callback of ours, OpenSSL would ask the terminal for the password of an encrypted one.
      while PEM_bytes_read_bio(&bytes, &count, nil, "CERTIFICATE", input, { _, _, _, _ in -1 }, nil) == 1 {
        documents.append(Array(UnsafeBufferPointer(start: bytes, count: count)))
        copenssl_free(bytes)
        bytes = nil
      }
      return documents
    }
  }

  // MARK: Fields

  /// From 1.
  var version: Int { X509_get_version(x509.pointer) + 1 }

  /// Lower-case hexadecimal digits without zeros before them, as Android's revocation list has it.
  package var serialNumber: String {
    guard
      let number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509.pointer), nil), let digits = BN_bn2hex(number)
    else { return "" }
    defer {
      copenssl_free(digits)
      BN_free(number)
    }
    let text = String(cString: digits).lowercased()
    let digitsOnly = text.drop { $0 == "0" }
    return digitsOnly.isEmpty ? "0" : String(digitsOnly)
  }

  package var subjectPublicKeyInfo: [UInt8] {
    encoding { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509.pointer), $0) }
  }

  /// Its bit string: 04 ‖ x ‖ y for a key on an elliptic curve.
  func publicPoint() throws(ProofError) -> [UInt8] {
    let fields = try DERNode(subjectPublicKeyInfo, or: .malformedCertificate).sequence()
    guard fields.count == 2 else { throw ProofError(.malformedCertificate, "subjectPublicKeyInfo") }
    return try fields[1].bits()
  }

  func publicKey() throws(ProofError) -> PublicKey {
    try PublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo)
  }

  package var subject: String { Self.text(X509_get_subject_name(x509.pointer)) }

  var hasEmptySubject: Bool { X509_NAME_entry_count(X509_get_subject_name(x509.pointer)) == 0 }

  /// The first attribute of this kind in the subject; `nil`: there is none.
  func subjectAttribute(_ kind: Int32) -> String? {
    let name = X509_get_subject_name(x509.pointer)
    let index = X509_NAME_get_index_by_NID(name, kind, -1)
    guard index >= 0, let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)) else { return nil }
    var text: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&text, value)
    guard count >= 0, let text else { return nil }
    defer { copenssl_free(text) }
    return String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
  }

  var isAuthority: Bool { X509_get_extension_flags(x509.pointer) & UInt32(EXFLAG_CA) != 0 }

  /// How many authorities may stand between it and the leaf; `nil`: any number.
  var pathLength: Int? {
    let length = X509_get_pathlen(x509.pointer)
    return length < 0 ? nil : length
  }

  /// RFC 5280 §4.2: a certificate with a critical extension that is not understood does not count. OpenSSL knows name
  /// constraints, and only its own verification applies them.
  var hasUnknownCriticalExtension: Bool {
    X509_get_extension_flags(x509.pointer) & UInt32(EXFLAG_CRITICAL) != 0
      || `extension`("2.5.29.30")?.isCritical == true
  }

  /// Without a key usage it may sign certificates.
  var maySignCertificates: Bool { X509_get_key_usage(x509.pointer) & UInt32(KU_KEY_CERT_SIGN) != 0 }

  /// Returns an extension's value, undecoded; `nil`: the certificate does not have the extension.
  package func `extension`(_ oid: String) -> (value: [UInt8], isCritical: Bool)? {
    guard let object = OBJ_txt2obj(oid, 1) else { return nil }
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(x509.pointer, object, -1)
    guard index >= 0, let found = X509_get_ext(x509.pointer, index), let value = X509_EXTENSION_get_data(found)
    else { return nil }
    let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
    return (Array(bytes), X509_EXTENSION_get_critical(found) == 1)
  }

  func hasExtendedKeyUsage(_ oid: String) -> Bool {
    guard let found = `extension`("2.5.29.37"),
      let purposes = try? DERNode(found.value, or: .malformedCertificate).sequence()
    else { return false }
    return purposes.contains { (try? ASN1ObjectIdentifier(derEncoded: $0.node)).map { "\($0)" } == oid }
  }

  /// Whether it is a site's, by its alternative names and without their wildcards.
  func isOf(host: String) -> Bool {
    let flags = UInt32(X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
    return X509_check_host(x509.pointer, host, host.utf8.count, flags, nil) == 1
  }

  /// The size of its RSA key; `nil`: the key is of another kind.
  var rsaBits: Int? { X509_get0_pubkey(x509.pointer).flatMap(PublicKey.rsaBits) }

  // MARK: Checks

  /// Also where its start cannot be read: -2, and 1 where it comes later.
  ///
  /// - Parameter time: seconds since 1970.
  func isBeforeValidity(at time: Int) -> Bool {
    ![-1, 0].contains(ASN1_TIME_cmp_time_t(X509_get0_notBefore(x509.pointer), time))
  }

  /// Also where its end cannot be read.
  func isAfterValidity(at time: Int) -> Bool { ASN1_TIME_cmp_time_t(X509_get0_notAfter(x509.pointer), time) < 0 }

  func names(asIssuer other: Certificate) -> Bool {
    X509_NAME_cmp(X509_get_issuer_name(x509.pointer), X509_get_subject_name(other.x509.pointer)) == 0
  }

  /// Whether the other's key signed it, by an algorithm that still holds.
  func isSigned(by other: Certificate) throws(ProofError) -> Bool {
    defer { ERR_clear_error() }
    var digest: Int32 = 0
    guard X509_get_signature_info(x509.pointer, &digest, nil, nil, nil) == 1 else {
      throw ProofError(.unsupportedAlgorithm, "a certificate's signature")
    }
    guard digest != NID_sha1, digest != NID_md5 else { return false }
    guard let key = X509_get0_pubkey(other.x509.pointer) else {
      throw ProofError(.unsupportedAlgorithm, "an issuer's key")
    }
    try PublicKey.check(key)
    let signed = mended() ?? x509
    return withExtendedLifetime(signed) { X509_verify(signed.pointer, key) == 1 }
  }

  /// The SHA-256 of certificates of Yubico's U2F keys of 2014: their signature is right, and its bit string claims that
  /// some of its last bits are not there.
  private static let withSpareBits: Set<String> = [
    "349bca1031f8c82c4ceca38b9cebf1a69df9fb3b94eed99eb3fb9aa3822d26e8",
    "dd574527df608e47ae45fbba75a2afdd5c20fd94a02419381813cd55a2a3398f",
    "1d8764f0f7cd1352df6150045c8f638e517270e8b5dda1c63ade9c2280240cae",
    "d0edc9a91a1677435a953390865d208c55b3183c6759c9b5a7ff494c322558eb",
    "6073c436dcd064a48127ddbf6032ac1a66fd59a0c24434f070d4e564c124c897",
    "ca993121846c464d666096d35f13bf44c1b05af205f9b4a1e00cf6cc10c5e511",
  ]

  /// Without the claim, if it is one of them. Their signatures are RSA ones of 2,048 bits, at their end.
  private func mended() -> X509Box? {
    var der = der
    let spareBits = der.count - 257
    guard der.indices.contains(spareBits), 1...7 ~= der[spareBits] else { return nil }
    guard Self.withSpareBits.contains(Hexadecimal.text(Array(SHA256.hash(data: der)))) else { return nil }
    der[spareBits] = 0
    return der.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      return d2i_X509(nil, &next, buffer.count).map(X509Box.init)
    }
  }

  // MARK: OpenSSL

  private func encoding(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let count = encode(nil)
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, written in
      var next = buffer.baseAddress
      written = Int(max(0, encode(&next)))
    }
  }

  private static func text(_ name: OpaquePointer?) -> String {
    guard let line = X509_NAME_oneline(name, nil, 0) else { return "" }
    defer { copenssl_free(line) }
    return String(cString: line)
  }
}

extension Certificate: Equatable {
  package static func == (one: Self, other: Self) -> Bool { one.der == other.der }
}
