// Certificates and keys as OpenSSL keeps them, read from PEM and checked before they are used.

import COpenSSL
import Glibc

/// All certificates of a file, in its order.
final class TLSCertificateList {
  /// X509, each with a reference of ours.
  let certificates: [OpaquePointer]

  init(_ path: String) throws(RPCTLSError) {
    let file = try CredentialFile(path)
    certificates = try file.withBIO { (bio) throws(RPCTLSError) in try Self.read(bio, path) }
    guard !certificates.isEmpty else { throw RPCTLSError(file: path, reason: "holds no certificate in PEM") }
  }

  deinit {
    for certificate in certificates { X509_free(certificate) }
  }

  private static func read(_ bio: OpaquePointer, _ path: String) throws(RPCTLSError) -> [OpaquePointer] {
    var certificates: [OpaquePointer] = []
    while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) { certificates.append(certificate) }
    guard OpenSSLErrors.isEndOfPEM else {
      for certificate in certificates { X509_free(certificate) }
      let reason = OpenSSLErrors.take() ?? "malformed"
      throw RPCTLSError(file: path, reason: "certificate \(certificates.count + 1): \(reason)")
    }
    return certificates
  }
}

extension TLSCertificateList {
  /// The name of the authority that issued the first certificate, if clients may lack its certificate: neither is it in
  /// the list or in the other one, nor is it a root of this machine.
  func unknownIssuer(besides other: TLSCertificateList?) -> String? {
    let leaf = certificates[0]
    let known = certificates.dropFirst() + (other?.certificates ?? [])
    let signedItself = X509_NAME_cmp(X509_get_issuer_name(leaf), X509_get_subject_name(leaf)) == 0
    guard !signedItself, !known.contains(where: { X509_check_issued($0, leaf) == X509_V_OK }),
      !Self.machineHasIssuer(of: leaf),
      let line = X509_NAME_oneline(X509_get_issuer_name(leaf), nil, 0)
    else { return nil }
    defer { copenssl_free(line) }
    return String(cString: line)
  }

  private static func machineHasIssuer(of certificate: OpaquePointer) -> Bool {
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new() else { fatalError("out of memory") }
    defer {
      X509_STORE_CTX_free(context)
      X509_STORE_free(store)
    }
    var issuer: OpaquePointer?
    guard X509_STORE_set_default_paths(store) == 1, X509_STORE_CTX_init(context, store, certificate, nil) == 1,
      X509_STORE_CTX_get1_issuer(&issuer, context, certificate) == 1
    else { return false }
    X509_free(issuer)
    return true
  }
}

/// A certificate with its chain and its key: our identity.
final class TLSIdentity {
  enum Purpose {
    case server
    case client
  }

  private let chain: TLSCertificateList
  /// EVP_PKEY.
  private let key: OpaquePointer
  private let keyFile: String

  init(certificateChainFile: String, privateKeyFile: String, for purpose: Purpose) throws(RPCTLSError) {
    chain = try TLSCertificateList(certificateChainFile)
    let file = try CredentialFile(privateKeyFile, isSecret: true)
    key = try file.withBIO { (bio) throws(RPCTLSError) in
      // A password would be asked for on the terminal.
      guard let key = PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil) else {
        throw RPCTLSError(file: privateKeyFile, reason: "holds no private key in PEM, or one with a password")
      }
      return key
    }
    keyFile = privateKeyFile
    try Self.check(chain, certificateChainFile, for: purpose)
    guard X509_check_private_key(chain.certificates[0], key) == 1 else {
      OpenSSLErrors.clear()
      throw RPCTLSError(file: privateKeyFile, reason: "not the key of the certificate in \(certificateChainFile)")
    }
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// When the first certificate of the chain ends.
  var end: time_t {
    let now = time(nil)
    return chain.certificates.map { certificateEnd($0, now: now) }.min() ?? 0
  }

  func install(in context: OpaquePointer) throws(RPCTLSError) {
    let intermediates = OPENSSL_sk_new_null()
    defer { OPENSSL_sk_free(intermediates) }
    for certificate in chain.certificates.dropFirst() {
      OPENSSL_sk_push(intermediates, UnsafeRawPointer(certificate))
    }
    OpenSSLErrors.clear()
    // It takes references of its own. It refuses keys that are too weak.
    guard SSL_CTX_use_cert_and_key(context, chain.certificates[0], key, intermediates, 1) == 1 else {
      throw RPCTLSError(file: keyFile, reason: OpenSSLErrors.take() ?? "cannot be used")
    }
  }

  private static func check(
    _ chain: TLSCertificateList, _ path: String, for purpose: Purpose
  ) throws(RPCTLSError) {
    for (index, certificate) in chain.certificates.enumerated() {
      // Negative: before now. 0: not a time.
      guard X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 else {
        throw RPCTLSError(file: path, reason: "certificate \(index + 1) is not valid yet")
      }
      guard X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0 else {
        throw RPCTLSError(file: path, reason: "certificate \(index + 1) has expired")
      }
    }
    let (use, name) =
      switch purpose {
      case .server: (X509_PURPOSE_SSL_SERVER, "a server")
      case .client: (X509_PURPOSE_SSL_CLIENT, "a client")
      }
    guard X509_check_purpose(chain.certificates[0], use, 0) == 1 else {
      throw RPCTLSError(file: path, reason: "the certificate's usage does not allow it for \(name)")
    }
  }
}

/// The authorities that may vouch for peers.
final class TLSAuthorities {
  private let list: TLSCertificateList

  init(_ path: String) throws(RPCTLSError) {
    list = try TLSCertificateList(path)
  }

  func install(in context: OpaquePointer) {
    let store = X509_STORE_new()
    defer { X509_STORE_free(store) }
    for certificate in list.certificates { X509_STORE_add_cert(store, certificate) }
    SSL_CTX_set1_cert_store(context, store)
  }

  /// Tells clients whose certificates are of use.
  func announce(in context: OpaquePointer) {
    for certificate in list.certificates { SSL_CTX_add_client_CA(context, certificate) }
  }

  /// SHA-256 of all of them: what a session was verified by.
  var digest: [UInt8] {
    var digests: [UInt8] = []
    for certificate in list.certificates { digests += Self.digest(certificate) }
    return SHA256.digest(digests)
  }

  private static func digest(_ certificate: OpaquePointer) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: SHA256.byteCount)
    X509_digest(certificate, EVP_sha256(), &digest, nil)
    return digest
  }
}

enum SHA256 {
  static let byteCount = 32

  static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
    return digest
  }
}
