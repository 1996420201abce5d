// Runs one row against the rules.

import TouchstonePolicy

extension DecisionRow {
  var goesOn: Bool { given.goesOn }
  var posture: DevicePosture { given.posture }

  /// - Parameter standing: the state that the previous row left.
  func start(after standing: Standing?) -> Standing {
    goesOn ? standing ?? Standing(on: posture) : Standing(on: posture)
  }

  /// - Parameter standing: the row's start; afterwards, the state that it leaves.
  func run(from standing: inout Standing) -> [Difference] {
    prepare(&standing)
    let observation = play(&standing)
    return expectations.compactMap { expectation in
      let actual = observation.text(of: expectation.column, at: standing.now)
      if actual == expectation.text { return nil }
      return Difference(
        position: expectation.position, name: name, column: expectation.column.rawValue, expected: expectation.text,
        actual: actual)
    }
  }

  /// Moves the clock to the moment of the attempt.
  func prepare(_ standing: inout Standing) {
    standing.posture = posture
    for change in given.standing { change(&standing) }
    standing.now = standing.now + given.offset
  }

  func play(_ standing: inout Standing) -> Observation {
    let policy = policy(in: standing)
    switch attempt {
    case .canEvaluate:
      return Observation(
        policy.preflight(
          posture: posture, binding: standing.account.binding, device: standing.device,
          profile: standing.account.profile, now: standing.now))
    case .diagnose:
      return Observation(policy.diagnose(diagnosisFacts(standing)), at: standing.now)
    case .submit(let attempt):
      return decide(attempt, &standing)
    case .secret(let factor, let isRight):
      let before = standing[secret: factor]
      let admitted = admit(factor, &standing)
      guard let reservation = admitted.reservation else { return admitted.observation }
      var observation = decide(.secret(factor, reservation, isRight: isRight), &standing)
      // Both phases are one row: its changes are the difference after the second.
      observation.secrets[factor] = standing[secret: factor] == before ? nil : standing[secret: factor]
      return observation
    case .admit(let factor, let number):
      let admitted = admit(factor, &standing)
      standing.admissions[number] = admitted.reservation.map { Standing.Admission(factor: factor, reservation: $0) }
      return admitted.observation
    case .settle(let number, let isRight):
      guard let admission = standing.admissions.removeValue(forKey: number) else {
        return Observation(outcome: OutcomeWord.notAdmitted)
      }
      return decide(.secret(admission.factor, admission.reservation, isRight: isRight), &standing)
    case .primary(let login):
      return submit(login, &standing)
    case .account(let attempt):
      return attempt.play(self, &standing)
    case .token(let attempt):
      return attempt.play(self, &standing)
    }
  }

  /// As the application has it.
  func policy(in standing: Standing) -> EvaluationPolicy {
    standing.servesPasskeys ? policy : policy.withoutPasskeys
  }

  /// Refuses the call, or decides the attempt.
  private func submit(_ login: LoginAge, _ standing: inout Standing) -> Observation {
    let policy = policy(in: standing)
    let verdict = login.verdict(at: standing.now, within: policy.primaryFreshness)
    if verdict == .inFuture { return Observation(outcome: tableWord(SecretChangeRefusal.primaryInFuture)) }
    guard !policy.asksForNewLogin(after: verdict, in: standing.evaluation) else {
      return Observation(outcome: tableWord(SecretChangeRefusal.primaryTooOld))
    }
    return decide(.primary(verdict), &standing)
  }

  private func admit(
    _ factor: Factor, _ standing: inout Standing
  ) -> (observation: Observation, reservation: SecretAdmission.Reservation?) {
    switch policy(in: standing).admitSecret(factor, facts(standing)) {
    case .verify(let reservation, let counted):
      standing[secret: factor] = counted
      var observation = Observation(outcome: OutcomeWord.verify)
      observation.secrets[factor] = counted
      return (observation, reservation)
    case .wait:
      return (Observation(outcome: OutcomeWord.wait), nil)
    case .refuse(let decision):
      return (keep(decision, of: factor, &standing), nil)
    }
  }

  private func decide(_ attempt: Attempt, _ standing: inout Standing) -> Observation {
    let decision = policy(in: standing).decide(AttemptFacts(facts(standing), attempt: attempt))
    var factor: Factor?
    if case .secret(let tried, _, _) = attempt { factor = tried }
    return keep(decision, of: factor, &standing)
  }

  /// Stores the changes as the service does.
  private func keep(_ decision: AttemptDecision, of factor: Factor?, _ standing: inout Standing) -> Observation {
    standing.device = decision.device ?? standing.device
    standing.evaluation = decision.evaluation ?? standing.evaluation
    if let baseline = decision.baseline { standing.account.binding?.baseline = baseline }
    var observation = Observation(decision)
    if let factor, let secret = decision.secret {
      standing[secret: factor] = secret
      observation.secrets[factor] = secret
    }
    return observation
  }

  /// The row's posture is the last report.
  func diagnosisFacts(_ standing: Standing) -> DiagnosisFacts {
    let binding = standing.account.binding.flatMap { $0.scope == .device ? $0 : nil }
    let report: DiagnosisFacts.Report? =
      if binding == nil || binding?.holdsPasskey == true || standing.report == .none {
        nil
      } else {
        .last(
          posture,
          standing.report == .complete ? .compare(baseline: binding?.baseline, posture: posture) : nil,
          at: standing.now)
      }
    return DiagnosisFacts(
      binding: binding, holdsAppAttestKey: standing.account.holdsAppAttestKey, report: report,
      device: standing.device, profile: standing.account.profile, passkeys: standing.account.passkeys,
      passcodeLadder: ladder(for: .passcode), gestureLadder: ladder(for: .gesture), now: standing.now)
  }

  /// If no binding exists, an attempt is one of a profile without a device.
  func facts(_ standing: Standing) -> AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: standing.account.binding ?? .absent, device: standing.device,
      profile: standing.account.profile, evaluation: standing.evaluation, now: standing.now)
  }
}
