// Runs what happens to an account against the rules.

import TouchstonePolicy

extension AccountAttempt {
  /// - Parameter row: gives policy and posture.
  func play(_ row: DecisionRow, _ standing: inout Standing) -> Observation {
    switch self {
    case .choose(let choice):
      return Observation(outcome: choice.violation() == nil ? OutcomeWord.accepted : OutcomeWord.refused)
    case .change(let change):
      return perform(change, row, &standing)
    case .turn(let factor, let isOn):
      var settings = standing.account.profile.settings
      settings.turn(factor, on: isOn)
      return apply(settings, &standing)
    case .prefer(let factor):
      var settings = standing.account.profile.settings
      settings.preferred = factor
      return apply(settings, &standing)
    case .beginBinding(let login):
      return beginBinding(login, row, standing)
    case .completeBinding(let completion):
      return complete(completion, row, &standing)
    case .acceptState(let evidence):
      return accept(evidence, row, &standing)
    }
  }

  // MARK: Secrets and switches

  private func perform(_ change: Change, _ row: DecisionRow, _ standing: inout Standing) -> Observation {
    let before = standing.account.profile
    var observation: Observation
    switch SecretChange.decide(change.authority.shown(at: standing.now)) {
    case .allow:
      observation = Observation(outcome: OutcomeWord.accepted)
      standing.make(change)
    case .refuse(let refusal):
      observation = Observation(outcome: tableWord(refusal))
    case .verify(let isRight):
      observation = verifyOld(change.factor, isRight: isRight, row.ladder(for: change.factor), &standing)
      if observation.outcome == OutcomeWord.accepted {
        standing.make(change)
      }
    }
    observation.keepSecrets(of: standing.account.profile, before)
    return observation
  }

  /// Counts as an attempt (R16).
  private func verifyOld(
    _ factor: Factor, isRight: Bool, _ ladder: Ladder, _ standing: inout Standing
  ) -> Observation {
    let rules = SecretRules(ladder: ladder)
    let count = SecretCount(own: standing[secret: factor], ofName: standing.account.countsOfName[factor])
    switch rules.admit(factor, count.standing, at: standing.now) {
    case .verify(let reservation, let counted):
      if isRight && count.isSet {
        standing[secret: factor] = SecretRules.settle(counted, reservation, isRight: true)
        return Observation(outcome: OutcomeWord.accepted)
      }
      let wrong = rules.settleWrongOld(factor, counted, reservation, at: standing.now)
      if count.isSet {
        standing[secret: factor] = wrong.standing
      } else {
        standing.account.countsOfName[factor] = wrong.standing
      }
      var observation = wrong.lock.map { Observation($0) } ?? Observation(outcome: OutcomeWord.refused)
      observation.outcome = OutcomeWord.refused
      observation.left = wrong.attemptsLeft
      return observation
    case .wait:
      return Observation(outcome: OutcomeWord.wait)
    case .refuse(let denial):
      return Observation(denial)
    }
  }

  private func apply(_ settings: UnlockSettings, _ standing: inout Standing) -> Observation {
    guard settings.violation() == nil else { return Observation(outcome: OutcomeWord.refused) }
    let before = standing.account.profile
    standing.account.profile = before.changing(settings, at: standing.now)
    var observation = Observation(outcome: OutcomeWord.accepted)
    observation.keepSecrets(of: standing.account.profile, before)
    return observation
  }

  // MARK: Bindings

  private func beginBinding(_ login: LoginAge, _ row: DecisionRow, _ standing: Standing) -> Observation {
    switch login.verdict(at: standing.now) {
    case .tooOld: return Observation(outcome: tableWord(SecretChangeRefusal.primaryTooOld))
    case .inFuture: return Observation(outcome: tableWord(SecretChangeRefusal.primaryInFuture))
    case .fresh: break
    }
    let denial = EnrolmentPolicy().preflight(posture: row.posture)
    return denial.map { Observation($0) } ?? Observation(outcome: OutcomeWord.yes)
  }

  private func complete(
    _ completion: Completion, _ row: DecisionRow, _ standing: inout Standing
  ) -> Observation {
    if let denial = EnrolmentPolicy().preflight(posture: row.posture) { return Observation(denial) }
    let facts = EnrolmentFacts(
      profileID: Self.profileID, deviceProfileID: completion.owner, activeBindingCount: completion.bindings,
      replaceExisting: completion.replacesExisting,
      lock: !standing.device.isLockedOut
        ? .none : completion.isOlderThanLock ? .afterExistingBinding : .beforeExistingBinding,
      isSignedByDevice: !completion.isByProfileTouchID)
    switch EnrolmentPolicy().decide(facts) {
    case .refuse(.deviceSpeaksForAnotherProfile): return Observation(outcome: OutcomeWord.boundToAnother)
    case .refuse(.tooManyBindings): return Observation(outcome: OutcomeWord.tooManyBindings)
    case .bind(let revokesExisting, let endsLockout):
      var observation = Observation(outcome: revokesExisting ? OutcomeWord.replaced : OutcomeWord.bound)
      observation.baseline = .recorded(from: row.posture)
      standing.account.binding?.state = .active
      standing.account.binding?.baseline = observation.baseline
      if endsLockout {
        standing.device = BiometryStanding()
        observation.device = standing.device
      }
      return observation
    }
  }

  private func accept(_ evidence: Evidence, _ row: DecisionRow, _ standing: inout Standing) -> Observation {
    let acceptance = EnrolmentPolicy().acceptDomainState(
      of: row.posture, on: evidence.shown(at: standing.now), now: standing.now)
    switch acceptance {
    case .refuse(let refusal): return Observation(outcome: tableWord(refusal))
    case .accept(let baseline):
      standing.account.binding?.baseline = baseline
      var observation = Observation(outcome: OutcomeWord.accepted)
      observation.baseline = baseline
      return observation
    }
  }
}

// MARK: In the rules' own terms

extension AccountAttempt.Choice {
  fileprivate func violation() -> String? {
    switch self {
    case .passcode(let passcode): Passcode.violation(in: passcode)
    case .gesture(let points): Gesture.violation(in: points)
    case .profileTouchID(let bytes):
      ProfileTouchID.violation(
        in: bytes, profileID: AccountAttempt.profileID, deviceID: AccountAttempt.deviceID)
    }
  }
}

extension AccountAttempt.Authority {
  /// Whether the old secret is right.
  fileprivate func shown(at now: UnixTime) -> SecretAuthority<Bool> {
    switch self {
    case .none: .none
    case .old(let isRight): .oldSecret(isRight)
    case .primary(let login): .primary(login.verdict(at: now))
    }
  }
}

extension AccountAttempt.Evidence {
  fileprivate func shown(at now: UnixTime) -> DomainStateEvidence {
    isPrimary
      ? .primary(login.verdict(at: now))
      : .token(issuedAt: login.time(at: now), isForBinding: isForBinding, isByBiometrics: isByBiometrics)
  }
}

extension LoginAge {
  func time(at now: UnixTime) -> UnixTime {
    now + (.zero - age)
  }

  /// - Parameter freshness: the required freshness; `nil`: as for a binding.
  func verdict(at now: UnixTime, within freshness: Duration? = nil) -> PrimaryVerdict {
    EnrolmentPolicy().primaryVerdict(authenticatedAt: time(at: now), now: now, within: freshness)
  }
}

extension Standing {
  /// Erasing a secret that is not set changes nothing.
  fileprivate mutating func make(_ change: AccountAttempt.Change) {
    let (profile, factor) = (account.profile, change.factor)
    guard !change.isErasure || profile.secret(for: factor).isSet else { return }
    account.profile =
      change.isErasure ? profile.erasingSecret(factor, at: now) : profile.settingSecret(factor, at: now)
  }
}

extension DecisionRow {
  /// The ladder of a secret that is tried outside of evaluations: the strictest of all policies, with the row's policy
  /// as the row has it.
  func ladder(for factor: Factor) -> Ladder {
    let others = policies.filter { !Identifier.areEqual($0.name, policy.name) }
    return .strictest(of: others + [policy], for: factor)
  }
}

extension UnlockSettings {
  /// A factor without a switch stays on.
  mutating func turn(_ factor: Factor, on isOn: Bool) {
    switch factor {
    case .biometry: isBiometryEnabled = isOn
    case .passcode: isPasscodeEnabled = isOn
    case .gesture: isGestureEnabled = isOn
    case .deviceOwner, .passkey, .primary: break
    }
  }
}

extension Observation {
  fileprivate mutating func keepSecrets(of profile: ProfileStanding, _ before: ProfileStanding) {
    for factor in [Factor.passcode, .gesture] where profile.secret(for: factor) != before.secret(for: factor) {
      secrets[factor] = profile.secret(for: factor)
    }
  }
}
