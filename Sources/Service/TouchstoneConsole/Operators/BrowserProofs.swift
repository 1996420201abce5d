// The cookie by which a browser proves that an operator has signed in with it. Pure: randomness and time are arguments.

internal import Encodings
package import TouchstoneCrypto
internal import TouchstonePolicy

/// A proof is a browser's random id and the end of its validity, with a digest over both, a name and the basis of the
/// account: a digest of its password's hash. A new password therefore revokes all proofs, and every replica with the
/// same keys accepts them.
package struct BrowserProofs: Sendable {
  /// Distinguishes browsers of one operator.
  typealias BrowserID = [UInt8]

  /// From the last sign-in: a browser that is used once a quarter stays familiar.
  static let lifetime = Duration.seconds(90 * 24 * 60 * 60)
  /// Operators that share a browser; the one that signed in longest ago goes first. Together they take some 310 bytes.
  static let maximumPerBrowser = 4

  private static let idBytes = 16
  private static let expiryBytes = 8
  private static let digestBytes = 32
  private static let purpose = "console browser"
  private static let separator: Character = "."

  private let pepper: Pepper
  private let randomness: Randomness

  package init(pepper: Pepper, randomness: Randomness = .system) {
    self.pepper = pepper
    self.randomness = randomness
  }

  /// Returns the browser's id if the cookie proves that this operator signed in with it, under the password in force.
  func browser(in cookie: String?, of name: String, _ basis: [UInt8], at now: UnixTime) -> BrowserID? {
    for proof in Self.proofs(in: cookie) {
      guard let bytes = Base64URL.decode(proof),
        bytes.count == Self.idBytes + Self.expiryBytes + Self.digestBytes
      else {
        continue
      }
      let (signed, digest) = (Array(bytes.dropLast(Self.digestBytes)), Array(bytes.suffix(Self.digestBytes)))
      guard areEqualInConstantTime(self.digest(of: signed, name, basis), digest) else { continue }
      let expiry = signed.suffix(Self.expiryBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return expiry > UInt64(max(0, now.seconds)) ? Array(signed.prefix(Self.idBytes)) : nil
    }
    return nil
  }

  /// Returns the cookie's next value, with a fresh proof for the operator, and with the proofs of the last other ones.
  ///
  /// - Parameter browser: the id that the cookie proved; a browser without one gets a new id.
  func renewed(
    _ cookie: String?, of name: String, _ basis: [UInt8], _ browser: BrowserID?, at now: UnixTime
  ) -> String {
    let others = Self.proofs(in: cookie).filter { self.browser(in: $0, of: name, basis, at: now) == nil }
    let expiry = UInt64(max(0, now.seconds)) + UInt64(Self.lifetime.components.seconds)
    let signed = (browser ?? randomness.bytes(Self.idBytes)) + withUnsafeBytes(of: expiry.bigEndian) { Array($0) }
    let proof = Base64URL.encode(signed + digest(of: signed, name, basis))
    return (others.suffix(Self.maximumPerBrowser - 1) + [proof]).joined(separator: String(Self.separator))
  }

  private func digest(of signed: [UInt8], _ name: String, _ basis: [UInt8]) -> [UInt8] {
    pepper.digest(of: signed, Array(name.utf8), basis, purpose: Self.purpose)
  }

  /// A cookie of any other length or form is no proof.
  private static func proofs(in cookie: String?) -> [String] {
    guard let cookie, cookie.utf8.count <= ConsoleCookie.maximumBrowserBytes else { return [] }
    return cookie.split(separator: separator).prefix(maximumPerBrowser).map(String.init).filter { proof in
      proof.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
    }
  }
}
