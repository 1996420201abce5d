// The unlocking that Android's hardware attests for a key, and the claims that it bears out (R44).

/// The unlocking that a key needs before it signs, as the hardware attests it.
public enum AttestedUnlocking: Sendable, Hashable {
  /// The key needs none, the hardware attests none, or one unlocking serves without a bound.
  case nothing
  /// - Parameters:
  ///   - byBiometrics, byPasscode: either, if both are true.
  ///   - lasting: for how long one unlocking serves; `nil`: each use needs one.
  case needed(byBiometrics: Bool, byPasscode: Bool, lasting: Duration?)

  /// For how long one unlocking of the phone may let a key of the device owner sign. Before Android 11 such keys cannot
  /// require one for each use; and a person that unlocked the phone longer ago may have put it down since.
  private static let longestUnlocking = Duration.seconds(5 * 60)

  /// Returns whether the key is protected as the app claims. A claim of less than the hardware attests is not borne out
  /// either: it would let biometrics stand in for the passcode, which ends lockouts (R12). No attestation shows that a
  /// key dies when another finger is enrolled.
  public func bearsOut(_ claim: KeyProtection) -> Bool {
    guard case .needed(let byBiometrics, let byPasscode, let lasting) = self else { return false }
    let isShort = lasting.map { $0 <= Self.longestUnlocking } ?? true
    return switch claim {
    case .biometryCurrentSet, .biometryAny: byBiometrics && !byPasscode && lasting == nil
    case .userPresence: byBiometrics && byPasscode && isShort
    case .devicePasscode: !byBiometrics && byPasscode && isShort
    }
  }
}
