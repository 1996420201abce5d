// The uses of a P-256 key besides signing messages: signatures of digests, agreement, encryption to it (ECIES), each
// byte for byte as Apple's keys do it.

internal import Crypto
internal import FoundationEssentials

/// The hash functions that come with keys.
public enum KeyHash: String, Sendable, CaseIterable {
  case sha1 = "SHA1"
  case sha256 = "SHA256"
  case sha384 = "SHA384"
  case sha512 = "SHA512"

  public func digest(of message: [UInt8]) -> [UInt8] {
    switch self {
    case .sha1: Array(Insecure.SHA1.hash(data: message))
    case .sha256: Array(SHA256.hash(data: message))
    case .sha384: Array(SHA384.hash(data: message))
    case .sha512: Array(SHA512.hash(data: message))
    }
  }

  public var byteCount: Int {
    switch self {
    case .sha1: Insecure.SHA1.byteCount
    case .sha256: SHA256.byteCount
    case .sha384: SHA384.byteCount
    case .sha512: SHA512.byteCount
    }
  }
}

/// How the two numbers of an ECDSA signature are written.
public enum SignatureFormat: Sendable {
  /// DER (ANSI X9.62, RFC 3279).
  case x962
  /// One after the other, 32 bytes each (RFC 4754).
  case rfc4754
}

extension SoftwareKey {
  /// - Parameter digest: a digest of any length; only its first 32 bytes enter the signature.
  public func sign(digest: [UInt8], format: SignatureFormat) -> [UInt8] {
    do {
      let signature = try privateKey.signature(for: GivenDigest(bytes: digest))
      return Array(format == .x962 ? signature.derRepresentation : signature.rawRepresentation)
    } catch {
      fatalError("a valid P-256 key signs every digest: \(error)")
    }
  }

  public static func isValid(
    _ signature: [UInt8], _ format: SignatureFormat, ofDigest digest: [UInt8], by publicKeyX963: [UInt8]
  ) -> Bool {
    let parsed =
      switch format {
      case .x962: try? P256.Signing.ECDSASignature(derRepresentation: signature)
      case .rfc4754: try? P256.Signing.ECDSASignature(rawRepresentation: signature)
      }
    guard let parsed, let key = try? P256.Signing.PublicKey(x963Representation: publicKeyX963) else { return false }
    return key.isValidSignature(parsed, for: GivenDigest(bytes: digest))
  }

  /// Elliptic-curve Diffie-Hellman; with cofactor it is the same, as P-256's is 1.
  /// - Returns: 32 bytes, or as many as the derivation gives; `nil`: `publicKeyX963` is not a point of the curve.
  public func agree(with publicKeyX963: [UInt8], deriving derivation: KeyDerivation? = nil) -> [UInt8]? {
    guard let other = try? P256.KeyAgreement.PublicKey(x963Representation: publicKeyX963),
      let own = try? P256.KeyAgreement.PrivateKey(rawRepresentation: privateKey.rawRepresentation),
      let secret = try? own.sharedSecretFromKeyAgreement(with: other)
    else { return nil }
    guard let derivation else { return secret.withUnsafeBytes { Array($0) } }
    return derivation.derive(from: secret)
  }

  /// - Returns: `nil`: `message` was not encrypted in this way to this key.
  public func decrypt(_ message: [UInt8], by scheme: ECIES) -> [UInt8]? {
    let ephemeralKey = Array(message.prefix(publicKeyX963.count))
    let rest = message.dropFirst(ephemeralKey.count)
    guard rest.count >= ECIES.tagLength,
      let derived = agree(with: ephemeralKey, deriving: scheme.derivation(ephemeralKey)),
      let nonce = try? AES.GCM.Nonce(data: scheme.nonce(derived)),
      let box = try? AES.GCM.SealedBox(
        nonce: nonce, ciphertext: rest.dropLast(ECIES.tagLength), tag: rest.suffix(ECIES.tagLength)),
      let plaintext = try? AES.GCM.open(box, using: scheme.key(derived))
    else { return nil }
    return Array(plaintext)
  }
}

/// ANSI X9.63's key derivation function (SEC 1, 3.6.1).
public struct KeyDerivation: Sendable {
  public var hash: KeyHash
  public var sharedInfo: [UInt8]
  public var byteCount: Int

  public init(_ hash: KeyHash, sharedInfo: [UInt8], byteCount: Int) {
    self.hash = hash
    self.sharedInfo = sharedInfo
    self.byteCount = byteCount
  }

  fileprivate func derive(from secret: SharedSecret) -> [UInt8] {
    let key =
      switch hash {
      case .sha1: derive(from: secret, using: Insecure.SHA1.self)
      case .sha256: derive(from: secret, using: SHA256.self)
      case .sha384: derive(from: secret, using: SHA384.self)
      case .sha512: derive(from: secret, using: SHA512.self)
      }
    return key.withUnsafeBytes { Array($0) }
  }

  private func derive(from secret: SharedSecret, using hash: (some HashFunction).Type) -> SymmetricKey {
    secret.x963DerivedSymmetricKey(using: hash, sharedInfo: sharedInfo, outputByteCount: byteCount)
  }
}

/// Apple's ECIES for P-256: an ephemeral key (65 bytes), the text under AES-128-GCM, the tag (16 bytes). The AES key is
/// derived from both keys by X9.63 with the ephemeral key as shared information.
public struct ECIES: Sendable, Hashable {
  public var hash: KeyHash
  /// The initialization vector is derived with the key; otherwise it is zero, because each key encrypts once.
  public var isVectorDerived: Bool

  static let tagLength = 16
  private static let keyLength = 16
  private static let vectorLength = 16

  public init(_ hash: KeyHash, isVectorDerived: Bool) {
    self.hash = hash
    self.isVectorDerived = isVectorDerived
  }

  /// - Returns: `nil`: `publicKeyX963` is not a point of the curve.
  public func encrypt(_ plaintext: [UInt8], to publicKeyX963: [UInt8]) -> [UInt8]? {
    let ephemeral = SoftwareKey()
    guard let derived = ephemeral.agree(with: publicKeyX963, deriving: derivation(ephemeral.publicKeyX963))
    else { return nil }
    do {
      let box = try AES.GCM.seal(plaintext, using: key(derived), nonce: AES.GCM.Nonce(data: nonce(derived)))
      return ephemeral.publicKeyX963 + box.ciphertext + box.tag
    } catch {
      fatalError("AES-128-GCM takes every key and vector of 16 bytes: \(error)")
    }
  }

  fileprivate func derivation(_ ephemeralKey: [UInt8]) -> KeyDerivation {
    KeyDerivation(
      hash, sharedInfo: ephemeralKey, byteCount: Self.keyLength + (isVectorDerived ? Self.vectorLength : 0))
  }

  fileprivate func key(_ derived: [UInt8]) -> SymmetricKey {
    SymmetricKey(data: derived.prefix(Self.keyLength))
  }

  fileprivate func nonce(_ derived: [UInt8]) -> [UInt8] {
    isVectorDerived ? Array(derived.dropFirst(Self.keyLength)) : [UInt8](repeating: 0, count: Self.vectorLength)
  }
}

/// A digest that the caller computed.
private struct GivenDigest: Digest {
  /// Never called: each digest has its own.
  static let byteCount = 0
  let bytes: [UInt8]

  func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
    try bytes.withUnsafeBytes(body)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  var description: String { "\(bytes.count) bytes" }
}
