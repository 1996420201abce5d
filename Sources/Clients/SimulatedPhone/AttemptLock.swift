/// Counts a phone's wrong attempts, which all of its apps share, and locks. The caller passes the time.
struct AttemptLock: Sendable, Hashable {
  /// Consecutive wrong touches after which biometrics are locked until the right passcode.
  static let biometricBudget = 5

  private(set) var biometricFailures = 0
  private(set) var passcodeFailures = 0
  private var passcodeLockedUntil: Duration?

  var isBiometryLockedOut: Bool { biometricFailures >= Self.biometricBudget }

  func isPasscodeLocked(at now: Duration) -> Bool {
    passcodeLockedUntil.map { now < $0 } ?? false
  }

  /// A success clears earlier failures, but opens no lock.
  mutating func biometryMatched() {
    if !isBiometryLockedOut { biometricFailures = 0 }
  }

  mutating func biometryMismatched() {
    biometricFailures = min(biometricFailures + 1, Self.biometricBudget)
  }

  /// The right passcode clears everything and opens the biometric lock.
  mutating func passcodeMatched() {
    self = AttemptLock()
  }

  mutating func passcodeMismatched(at now: Duration) {
    passcodeFailures += 1
    passcodeLockedUntil = Self.passcodeRest(afterFailures: passcodeFailures).map { now + $0 }
  }

  /// How long the passcode is locked after so many consecutive wrong ones; `nil`: not at all.
  private static func passcodeRest(afterFailures failures: Int) -> Duration? {
    switch failures {
    case ..<5: nil
    case 5: .seconds(60)
    case 6: .seconds(5 * 60)
    case 7, 8: .seconds(15 * 60)
    default: .seconds(60 * 60)
    }
  }
}
