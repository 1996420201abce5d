import Crypto

/// Protects state that the service hands out instead of storing it (R34): authenticated encryption with AES-256-GCM
/// (NIST SP 800-38D), one derived key per message.
///
///     version 1 (1 byte) ‖ key id (4) ‖ salt (16) ‖ nonce (12) ‖ ciphertext ‖ tag (16)
///
/// GCM with random nonces is safe for 2^32 messages under one key: five days at 10,000 a second. Each message therefore
/// has its own key, HMAC-SHA-256(sealing key, label ‖ salt), with a new salt and nonce. Only a repetition of both, 224
/// bits, would do harm. After thirty years at that rate (2^43 messages) its probability is below 2^-138.
public struct Sealer: Sendable {
  /// The bytes that sealing adds to a plaintext.
  public static let overheadByteCount = headerByteCount + saltByteCount + nonceByteCount + tagByteCount

  private let keys: SealingKeys
  private let randomness: Randomness

  public init(keys: SealingKeys, randomness: Randomness = .system) {
    self.keys = keys
    self.randomness = randomness
  }

  /// - Parameters:
  ///   - context: bytes to which the plaintext is bound; authenticated, not contained.
  ///   - time: now, in Unix seconds; it selects the key.
  public func seal(_ plaintext: [UInt8], context: [UInt8], at time: Int64) -> [UInt8] {
    let key = keys.active(at: time)
    let random = randomness.bytes(Self.saltByteCount + Self.nonceByteCount)
    let salt = random.prefix(Self.saltByteCount)
    // Fails only for a nonce or key of a wrong length, or a plaintext beyond 64 GiB.
    let box = try! AES.GCM.seal(
      plaintext, using: key.messageKey(salt: salt),
      nonce: AES.GCM.Nonce(data: random.dropFirst(Self.saltByteCount)), authenticating: context)

    var sealed: [UInt8] = []
    sealed.reserveCapacity(plaintext.count + Self.overheadByteCount)
    sealed.append(Self.version)
    sealed += key.id
    sealed += salt
    sealed += box.combined!
    return sealed
  }

  /// `nil` for bytes that none of the keys sealed for this context. The reason is not given.
  public func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
    guard sealed.count >= Self.overheadByteCount, sealed[0] == Self.version else { return nil }
    let keyID = sealed[1..<Self.headerByteCount]
    guard let key = keys.accepted.first(where: { $0.id.elementsEqual(keyID) }) else { return nil }
    let salt = sealed[Self.headerByteCount..<Self.headerByteCount + Self.saltByteCount]
    let combined = sealed[(Self.headerByteCount + Self.saltByteCount)...]
    guard
      let box = try? AES.GCM.SealedBox(combined: combined),
      let plaintext = try? AES.GCM.open(box, using: key.messageKey(salt: salt), authenticating: context)
    else { return nil }
    return Array(plaintext)
  }

  private static let version: UInt8 = 1
  private static let headerByteCount = 1 + SealingKey.idByteCount
  private static let saltByteCount = 16
  private static let nonceByteCount = 12
  private static let tagByteCount = 16
}
