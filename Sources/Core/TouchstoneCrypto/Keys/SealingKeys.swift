import Crypto

/// A 256-bit key for sealing.
public struct SealingKey: Sendable {
  public static let byteCount = 32

  /// The prefix of everything that the key sealed. Derived from the key, so a file can be renamed freely.
  let id: [UInt8]
  /// HMAC-SHA-256 with the key already absorbed: deriving from it costs two compressions fewer.
  private let derivation: Secret<HMAC<SHA256>>

  /// - Parameter bytes: 32 of them, random. Another length or one repeated byte throws `.invalidSecret`.
  public init(bytes: [UInt8]) throws(CryptoError) {
    try requireRandomLooking(bytes, count: Self.byteCount, name: "sealing key")
    self.init(SymmetricKey(data: bytes))
  }

  public static func random() -> SealingKey {
    SealingKey(SymmetricKey(size: .bits256))
  }

  private init(_ key: SymmetricKey) {
    let keyed = HMAC<SHA256>(key: key)
    derivation = Secret(keyed)
    id = Array(keyed.code(for: Self.idLabel).prefix(Self.idByteCount))
  }

  /// The key of one message, from its salt.
  func messageKey(salt: some Collection<UInt8>) -> SymmetricKey {
    SymmetricKey(data: derivation.value.code(for: Self.messageLabel + salt))
  }

  static let idByteCount = 4

  private static let idLabel = Array("touchstone sealing key id".utf8)
  /// With a salt that is below one block of SHA-256 less its padding, 55 bytes.
  private static let messageLabel = Array("touchstone sealed message 1".utf8)
}

/// One key seals; all of them open.
public struct SealingKeys: Sendable {
  let succession: KeySuccession<SealingKey>
  /// The latest first.
  let accepted: [SealingKey]

  init(_ succession: KeySuccession<SealingKey>) {
    self.succession = succession
    accepted = succession.accepted
  }

  /// - Parameter others: the earlier ones, the latest first.
  public init(active: SealingKey, others: [SealingKey] = []) {
    self.init(.init(active: active, others: others))
  }

  /// The key that seals. `time`: Unix seconds.
  func active(at time: Int64) -> SealingKey { succession.active(at: time) }
}

extension HMAC {
  /// A code of `message` under the absorbed key; this value does not change.
  func code(for message: [UInt8]) -> MAC {
    var authenticator = self
    authenticator.update(data: message)
    return authenticator.finalize()
  }
}

/// A wrong length, or one repeated byte (a file of zeros after a crash), is no key.
func requireRandomLooking(_ bytes: [UInt8], count: Int, name: String) throws(CryptoError) {
  guard bytes.count == count else {
    throw CryptoError(code: .invalidSecret, message: "\(name): \(bytes.count) bytes instead of \(count)")
  }
  guard bytes.contains(where: { $0 != bytes[0] }) else {
    throw CryptoError(code: .invalidSecret, message: "\(name): one repeated byte is not a random key")
  }
}
