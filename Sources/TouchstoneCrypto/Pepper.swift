// The secret that stands outside of the database: a stolen database alone verifies no guess.

import Crypto

/// A 256-bit key for keyed digests of what people know or carry (R16, R30).
///
/// It cannot be rotated: the digests made under it cannot be made anew without what they are digests of. A service that had
/// to (it leaked, with the database) would keep both, verify under the one that a record names, and write the new one's
/// digest at each success; whoever does not come back sets their secret anew.
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

  /// What a database remembers of it, to know that it is given the same again. It tells nobody the pepper.
  public var check: [UInt8] { digest(of: [], purpose: "key check") }

  /// Takes as long for equal ones as for others.
  public static func areEqual(_ check: [UInt8], _ other: [UInt8]) -> Bool {
    check.withUnsafeBytes { left in other.withUnsafeBytes { right in areEqualInConstantTime(left, right) } }
  }

  /// HMAC-SHA-256, 32 bytes.
  ///
  /// - Parameters:
  ///   - parts: in this order; each is preceded by its length, so that no two lists run together.
  ///   - purpose: separates the digests of one use from those of every other.
  public func digest(of parts: [UInt8]..., purpose: String) -> [UInt8] {
    var message: [UInt8] = []
    for part in [Array(purpose.utf8)] + parts {
      withUnsafeBytes(of: UInt64(part.count).bigEndian) { message += $0 }
      message += part
    }
    return Array(keyed.value.code(for: message))
  }
}
