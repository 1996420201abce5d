import Crypto

/// The keys that sign accounts of removed content in the audit log, and those that verify the signatures (R41). One key
/// signs. Signatures of the others stay valid: an audit key is kept as long as the log.
public struct AuditKeys: Sendable {
  let succession: KeySuccession<SigningKey>
  private let verifier: AuditVerifier

  init(_ succession: KeySuccession<SigningKey>) {
    self.succession = succession
    verifier = AuditVerifier(succession.accepted.map(\.publicKey))
  }

  public init(active: SigningKey) {
    self.init(.init(active: active, others: []))
  }

  /// The latest first.
  public var accepted: [SigningKey] { succession.accepted }

  /// Signs with ES256 and returns the key's id and 64 bytes. `nil` before the activation time of the only key, because
  /// other replicas may not know it yet.
  ///
  /// - Parameter time: Unix seconds.
  public func sign(_ message: [UInt8], at time: Int64) -> (keyID: String, signature: [UInt8])? {
    guard succession.members.count > 1 || succession.members[0].isDue(at: time) else { return nil }
    let key = succession.active(at: time)
    // Fails only if memory or the system's generator does.
    let signature = try! key.privateKey.value.signature(for: message)
    return (key.keyID, Array(signature.rawRepresentation))
  }

  public func check(_ signature: [UInt8], by keyID: String, of message: [UInt8]) -> AuditVerifier.Finding {
    verifier.check(signature, by: keyID, of: message)
  }
}

/// The public halves of audit keys: enough for a verification, and not secret.
public struct AuditVerifier: Sendable {
  public enum Finding: Sendable, Hashable {
    case valid
    case forged
    case unknownKey
  }

  private let keys: [String: P256PublicKey]

  init(_ keys: [P256PublicKey]) {
    self.keys = Dictionary(keys.map { ($0.thumbprint, $0) }) { first, _ in first }
  }

  /// Reads keys in PEM ("PUBLIC KEY"), one after the other, with any text around them (RFC 7468): the output of
  /// `touchstone keys public`, before and after rotations. Throws `.invalidPublicKey` if one is not a P-256 key, or if
  /// there is none.
  public init(pem text: String) throws(CryptoError) {
    var keys: [P256PublicKey] = []
    var block: [Substring]?
    for line in text.split(whereSeparator: \.isNewline) {
      if line == Self.begin { block = [] }
      block?.append(line)
      guard line == Self.end, let lines = block else { continue }
      keys.append(try Self.key(pem: lines.joined(separator: "\n")))
      block = nil
    }
    guard !keys.isEmpty, block == nil else {
      throw CryptoError(code: .invalidPublicKey, message: "no public key in PEM, or the end of one is missing")
    }
    self.init(keys)
  }

  private static let begin = "-----BEGIN PUBLIC KEY-----"
  private static let end = "-----END PUBLIC KEY-----"

  private static func key(pem: String) throws(CryptoError) -> P256PublicKey {
    guard let key = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
      throw CryptoError(code: .invalidPublicKey, message: "not a public key of P-256 in PEM")
    }
    return P256PublicKey(key)
  }

  /// - Parameter keyID: its RFC 7638 thumbprint.
  public func check(_ signature: [UInt8], by keyID: String, of message: [UInt8]) -> Finding {
    guard let key = keys[keyID] else { return .unknownKey }
    let check = SignatureCheck(publicKey: key, signature: signature, message: message)
    return SignatureVerifier.verify(check) ? .valid : .forged
  }
}

extension P256PublicKey {
  /// SubjectPublicKeyInfo, without a final newline.
  public var pem: String { key.pemRepresentation }
}
