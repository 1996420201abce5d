// Keys as the Secure Enclave keeps them: made on the phone, never leaving it, signing only for the person who is
// present.

internal import Crypto

extension SimulatedPhone {
  /// A handle on a key that stays in its phone.
  public struct Key: Sendable, Hashable {
    /// 65 bytes: 0x04, x, y (ANSI X9.63, uncompressed).
    public let publicKeyX963: [UInt8]
    public let accessControl: AccessControl
    public let application: String
  }

  public enum SigningError: Error, Sendable, Hashable {
    /// There is no such key, or no longer (`errSecItemNotFound`).
    case keyNotFound
    /// No person proved their presence.
    case notAuthenticated(Failure)
  }
}

extension SimulatedPhone.Key {
  /// The keychain's name for it: SHA-1 of the public key (`kSecAttrApplicationLabel`). 20 bytes.
  public static func applicationLabel(of publicKeyX963: [UInt8]) -> [UInt8] {
    Array(Insecure.SHA1.hash(data: publicKeyX963))
  }
}
