// Passcode and gesture: when one may be tried, and what a verdict changes (R13–R15). The failure comes first: the
// service counts an attempt durably before it verifies the secret, and only a success takes the count back.

/// The ladder of one secret, in an evaluation or outside of one.
public struct SecretRules: Sendable {
  public let ladder: Ladder

  /// Longest time from an admission to its verdict; after it, the verdict is lost. A verification takes tens of
  /// milliseconds, and waits behind few others.
  public static let verificationTimeLimit: Duration = .seconds(10)

  /// Between replicas' clocks: clocks that are synchronized differ by milliseconds. With more, lost admissions would be
  /// awaited for longer than a call lasts.
  static let clockTolerance: Duration = .seconds(1)

  public init(ladder: Ladder) {
    self.ladder = ladder
  }

  public enum State: Sendable, Hashable {
    case open
    /// The secret locks unless one of the attempts in flight is right.
    case pending
    case locked(retryAfter: Duration)
    case disabled

    /// "locked for 1m".
    var text: String {
      switch self {
      case .open: "open"
      case .pending: "waiting for a verdict"
      case .locked(let retryAfter): "locked for \(retryAfter.settingName)"
      case .disabled: "disabled until set anew"
      }
    }
  }

  public func state(of standing: SecretStanding, at now: UnixTime) -> State {
    let isDisabled = standing.lock == .untilSetAnew || ladder.isDisabled(after: standing.failures)
    guard isDisabled || standing.remainingLock(at: now) != nil else { return .open }
    if standing.isAwaitingVerdict(at: now) { return .pending }
    if !isDisabled, let remaining = standing.remainingLock(at: now) { return .locked(retryAfter: remaining) }
    return .disabled
  }

  public enum Admission: Sendable, Hashable {
    /// Write the standing durably, then verify, then settle.
    case verify(SecretAdmission.Reservation, SecretStanding)
    /// The whole budget is in flight: try again after a verdict.
    case wait
    /// Neither verified nor counted.
    case refuse(Denial)
  }

  /// Counts the attempt before its secret is verified (R14).
  ///
  /// - Parameter factor: passcode or gesture, for the reason of a refusal.
  public func admit(_ factor: Factor, _ standing: SecretStanding, at now: UnixTime) -> Admission {
    guard standing.isSet else { return .refuse(.factorNotOffered) }
    if let obstacle = obstacle(to: factor, standing, at: now) { return .refuse(obstacle) }
    guard state(of: standing, at: now) == .open else { return .wait }

    var counted = standing
    counted.failures += 1
    counted.inFlight = (standing.isAwaitingVerdict(at: now) ? standing.inFlight : 0) + 1
    counted.inFlightUntil = now + Self.verificationTimeLimit
    switch ladder.effect(ofFailure: counted.failures) {
    case .lock(let duration): counted.lock = .until(now + duration)
    case .disable: counted.lock = .untilSetAnew
    // An expired lock stays: it holds again if the clock is set back (R15).
    case nil: break
    }
    return .verify(
      SecretAdmission.Reservation(generation: counted.generation, failures: counted.failures), counted)
  }

  /// The standing after the verdict of an admitted attempt.
  ///
  /// A right secret is right, however many others were wrong meanwhile; a wrong one was counted at its admission. The
  /// caller makes sure that the verdict is about the secret that is set now.
  public static func settle(
    _ standing: SecretStanding, _ reservation: SecretAdmission.Reservation, isRight: Bool
  ) -> SecretStanding {
    var settled = standing
    if isRight && standing.isSet {
      settled.clear()
    } else if standing.generation == reservation.generation {
      settled.inFlight -= min(standing.inFlight, 1)
    }
    return settled
  }

  /// Attempts up to the next lock; none while it is locked, or may become so.
  public func attemptsLeft(with standing: SecretStanding, at now: UnixTime) -> UInt32 {
    guard state(of: standing, at: now) == .open else { return 0 }
    return ladder.failuresToNextLock(after: standing.failures)
  }

  /// Why the secret cannot be tried now; `nil` if it can, perhaps after a wait.
  func obstacle(to factor: Factor, _ standing: SecretStanding, at now: UnixTime) -> Denial? {
    switch state(of: standing, at: now) {
    case .open, .pending: nil
    case .locked(let retryAfter): .secretLocked(factor, retryAfter: retryAfter)
    case .disabled: .secretDisabled(factor)
    }
  }
}

extension SecretStanding {
  /// Whether an admission can still answer. If more time is left than any admission has, another replica's clock is
  /// ahead, or the clock was set back. If that is by more than the clocks of well-kept replicas differ, the admission
  /// counts as lost, so that no attempt waits for it.
  fileprivate func isAwaitingVerdict(at now: UnixTime) -> Bool {
    inFlight > 0 && now < inFlightUntil
      && inFlightUntil - now <= SecretRules.verificationTimeLimit + SecretRules.clockTolerance
  }

  fileprivate func remainingLock(at now: UnixTime) -> Duration? {
    guard case .until(let end) = lock, now < end else { return nil }
    return end - now
  }

  /// Without failures or lock, and in a new generation.
  mutating func clear() {
    self = SecretStanding(isSet: isSet, generation: generation &+ 1)
  }
}

extension Ladder {
  fileprivate func isDisabled(after failures: UInt32) -> Bool {
    guard let last = rungs.last, last.effect == .disable else { return false }
    return failures >= last.failures
  }

  /// The effect of a count; none before the first rung.
  func effect(ofFailure count: UInt32) -> Effect? {
    rungs.last { $0.failures <= count }?.effect
  }

  fileprivate func failuresToNextLock(after failures: UInt32) -> UInt32 {
    guard let first = rungs.first, failures < first.failures else { return 1 }
    return first.failures - failures
  }
}

extension Denial {
  /// -1, which an app written for LAContext treats as a wrong passcode.
  static func secretLocked(_ factor: Factor, retryAfter: Duration) -> Denial {
    Denial(
      code: .authenticationFailed, reason: factor == .gesture ? .gestureLocked : .passcodeLocked,
      retryAfter: retryAfter)
  }

  /// Waiting does not help.
  static func secretDisabled(_ factor: Factor) -> Denial {
    Denial(code: .authenticationFailed, reason: factor == .gesture ? .gestureDisabled : .passcodeDisabled)
  }

  /// Switched off or not set: one answer for both, so that it does not say which (R17).
  static let factorNotOffered = Denial(code: .biometryNotAvailable, reason: .factorNotOffered)
}
