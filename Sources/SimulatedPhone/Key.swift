// Keys as the Secure Enclave keeps them: made on the phone, never leaving it, signing only for who is present.

extension SimulatedPhone {
  /// What a key asks of the person before it signs (`SecAccessControlCreateFlags`).
  public enum KeyProtection: Sendable, Hashable, CaseIterable {
    /// Biometrics, as enrolled when the key was made: any change to them destroys the key.
    case biometryCurrentSet
    /// Biometrics, whoever is enrolled at the time.
    case biometryAny
    /// Biometrics or passcode.
    case userPresence
    case devicePasscode

    /// Any of these opens the key.
    public var factors: Set<Factor> {
      switch self {
      case .biometryCurrentSet, .biometryAny: [.biometry]
      case .userPresence: [.biometry, .passcode]
      case .devicePasscode: [.passcode]
      }
    }
  }

  /// A handle on a key that stays in its phone.
  public struct Key: Sendable, Hashable {
    /// 65 bytes: 0x04, x, y (ANSI X9.63, uncompressed).
    public let publicKeyX963: [UInt8]
    public let protection: KeyProtection
    public let application: String
  }

  public enum SigningError: Error, Sendable, Hashable {
    /// There is no such key, or no longer (`errSecItemNotFound`).
    case keyNotFound
    /// Nobody proved to be present.
    case notAuthenticated(Failure)
  }
}
