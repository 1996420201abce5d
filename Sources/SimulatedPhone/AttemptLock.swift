// How many wrong attempts a phone forgives. One for the phone: all its apps share it.

/// Counts wrong attempts and locks. The time comes from outside.
struct AttemptLock: Sendable, Hashable {
  /// Wrong touches in a row after which biometrics rest until the passcode was right.
  static let biometricBudget = 5

  private(set) var biometricFailures = 0
  private(set) var passcodeFailures = 0
  private var passcodeLockedUntil: Duration?

  var isBiometryLockedOut: Bool { biometricFailures >= Self.biometricBudget }

  func isPasscodeLocked(at now: Duration) -> Bool {
    passcodeLockedUntil.map { now < $0 } ?? false
  }

  /// A success forgives what came before, but opens no lock.
  mutating func biometryMatched() {
    if !isBiometryLockedOut { biometricFailures = 0 }
  }

  mutating func biometryMismatched() {
    biometricFailures = min(biometricFailures + 1, Self.biometricBudget)
  }

  /// The passcode forgives everything and opens the biometric lock.
  mutating func passcodeMatched() {
    self = AttemptLock()
  }

  mutating func passcodeMismatched(at now: Duration) {
    passcodeFailures += 1
    passcodeLockedUntil = Self.passcodeRest(afterFailures: passcodeFailures).map { now + $0 }
  }

  /// How long the passcode rests after so many wrong ones in a row; `nil`: not at all.
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
