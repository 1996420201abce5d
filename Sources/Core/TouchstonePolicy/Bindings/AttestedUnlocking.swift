// What Android's hardware says of a key's unlocking, and the claims that it bears out (R44).

/// What must happen before the key signs, in the hardware's word.
public enum AttestedUnlocking: Sendable, Hashable {
  /// Nothing, or the hardware does not say, or for how long one unlocking serves has no bound.
  case nothing
  /// - Parameters:
  ///   - byBiometrics, byPasscode: either, if both are true.
  ///   - lasting: for how long one unlocking serves; `nil`: each use needs one.
  case needed(byBiometrics: Bool, byPasscode: Bool, lasting: Duration?)

  /// For how long one unlocking of the phone may let a key of the device owner sign. Before Android 11 such keys cannot ask
  /// for each use; and who unlocked the phone longer ago may have put it down since.
  private static let longestUnlocking = Duration.seconds(5 * 60)

  /// Whether the key is protected as the app claims. A claim of less than the hardware says is not borne out either: it would
  /// let biometrics stand in for the passcode, which ends lockouts (R12). That a key dies when another finger is enrolled is
  /// not in an attestation.
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
