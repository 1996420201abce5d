/// How a secret locks after consecutive wrong attempts (R13).
public struct Ladder: Sendable, Hashable {
  public enum Effect: Sendable, Hashable {
    case lock(Duration)
    /// Until the secret is set anew.
    case disable
  }

  public struct Rung: Sendable, Hashable {
    /// Consecutive failures.
    public var failures: UInt32
    public var effect: Effect

    public init(failures: UInt32, effect: Effect) {
      self.failures = failures
      self.effect = effect
    }
  }

  /// Strictly rising; at least one. A rung's effect holds for every failure up to the next rung, and the last rung's
  /// for all beyond it: failures that a laxer ladder counted skip no rung.
  public let rungs: [Rung]

  /// The most guesses in a row that a ladder may leave before it locks: NIST SP 800-63B, 5.2.2.
  public static let maximumFailures: UInt32 = 100
  /// The longest lock: for a longer time, the secret should be disabled and the person told so.
  public static let longestLock: Duration = .seconds(366 * 24 * 60 * 60)

  /// - Precondition: `violation(in:)` finds none.
  public init(rungs: [Rung]) {
    if let violation = Self.violation(in: rungs) { preconditionFailure("no ladder: \(violation)") }
    self.rungs = rungs
  }

  /// 5: 1 minute, 6: 5 minutes, 7 and 8: 15 minutes, 9: 60 minutes, 10: disabled.
  public static let standard = Ladder(rungs: [
    Rung(failures: 5, effect: .lock(.seconds(60))), Rung(failures: 6, effect: .lock(.seconds(5 * 60))),
    Rung(failures: 7, effect: .lock(.seconds(15 * 60))), Rung(failures: 8, effect: .lock(.seconds(15 * 60))),
    Rung(failures: 9, effect: .lock(.seconds(60 * 60))), Rung(failures: 10, effect: .disable),
  ])

  /// Why the rungs make no ladder, to follow the setting's name; `nil` if they do.
  public static func violation(in rungs: [Rung]) -> String? {
    guard !rungs.isEmpty else { return "has no rung" }
    var previous: Rung?
    for rung in rungs {
      guard rung.failures > previous?.failures ?? 0 else { return "has failures that do not rise from rung to rung" }
      guard rung.failures <= maximumFailures else { return "allows more than \(maximumFailures) failures" }
      guard previous?.effect != .disable else { return "has a rung after the one that disables" }
      if case .lock(let duration) = rung.effect {
        guard duration > .zero, duration <= longestLock else { return "has a lock of zero time, or of over 366 days" }
      }
      previous = rung
    }
    return nil
  }
}
