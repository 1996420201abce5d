import Crypto

/// A 256-bit key for keyed digests of secrets that people know or phones carry (R16, R30). It is kept outside of the
/// database, so that a stolen database alone verifies no guess.
///
/// It cannot be rotated, because its digests cannot be made again without the original secrets. If it must be replaced
/// (it leaked, with the database), a service would keep both peppers, verify under the one that a record names, and
/// write the new one's digest at each success. People without a later success would set their secret anew.
public struct Pepper: Sendable {
  public static let byteCount = 32

  private let keyed: Secret<HMAC<SHA256>>

  /// - Parameter bytes: 32 of them, random. Another length or one repeated byte throws `.invalidSecret`.
  public init(bytes: [UInt8]) throws(CryptoError) {
    try requireRandomLooking(bytes, count: Self.byteCount, name: "pepper")
    self.init(SymmetricKey(data: bytes))
  }

  public static func random() -> Pepper {
    Pepper(SymmetricKey(size: .bits256))
  }

  private init(_ key: SymmetricKey) {
    keyed = Secret(HMAC(key: key))
  }

  /// A check that a database keeps, to recognise the same pepper. It does not reveal the pepper.
  public var check: [UInt8] { digest(of: [], purpose: "key check") }

  /// Takes the same time for equal and different checks.
  public static func areEqual(_ check: [UInt8], _ other: [UInt8]) -> Bool {
    check.withUnsafeBytes { left in other.withUnsafeBytes { right in areEqualInConstantTime(left, right) } }
  }

  /// HMAC-SHA-256, 32 bytes.
  ///
  /// - Parameters:
  ///   - parts: in this order; each is preceded by its length, so that no two lists run together.
  ///   - purpose: separates the digests of one use from those of all others.
  public func digest(of parts: [UInt8]..., purpose: String) -> [UInt8] {
    var message: [UInt8] = []
    for part in [Array(purpose.utf8)] + parts {
      withUnsafeBytes(of: UInt64(part.count).bigEndian) { message += $0 }
      message += part
    }
    return Array(keyed.value.code(for: message))
  }
}
