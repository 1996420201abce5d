// One simulated person in one flow: an answer in, the next request out, and at the end whether all answers were right.

package import LoadModel

package struct FlowMachine: Sendable {
  package enum Step: Hashable, Sendable {
    case send(PhoneRequest)
    /// Another finger is enrolled from now on: no call.
    case changeFinger
    case end(CallOutcome)
  }

  private let flow: Scenario.Flow
  private let hasToken: Bool
  private var position = 0
  private var open: PhoneRequest.Purpose?
  /// True from the change of a finger until another factor succeeded (R26); `nil`: not known.
  private var isFingerChanged: Bool?
  /// Wrong fingers since the move began.
  private var wrongFingers = 0

  /// No policy forgives more (`lockout_after`).
  private static let maximumWrongFingers = 10

  /// - Parameters:
  ///   - hasToken: a login's token is at hand for IntrospectToken.
  ///   - knowsFinger: the phone's domain state is the binding's baseline.
  package init(_ flow: Scenario.Flow, hasToken: Bool = false, knowsFinger: Bool = true) {
    self.flow = flow
    self.hasToken = hasToken
    isFingerChanged = knowsFinger ? false : nil
  }

  package mutating func begin() -> Step { step() }

  /// The step after `changeFinger`.
  package mutating func fingerChanged() -> Step {
    isFingerChanged = true
    return advance()
  }

  package mutating func next(after answer: PhoneAnswer) -> Step {
    switch (flow.moves[position].kind, answer) {
    case (.bind, .bound), (.preflight, .preflight(canEvaluate: true)): advance()
    case (.preflight, .preflight(canEvaluate: false)): wrong("it cannot be evaluated")
    case (_, .begun(let state)): evaluationBegan(state)
    case (.attempt(_, .lockedOut), .denied("BIOMETRY_LOCKOUT")): advance()
    case (_, .denied(let reason)): wrong("denied with \(reason)")
    case (.attempt(let proof, let expected), .attempt(let outcome, let fault)):
      attemptEnded(outcome, fault, of: proof, expected)
    case (.approve, .attempt(let outcome, let fault)): attemptEnded(outcome, fault, of: .finger, .succeeded)
    case (.findToken, .attempt(let outcome, let fault)): attemptEnded(outcome, fault, of: .finger, .succeeded)
    case (.lockOut, .attempt(let outcome, _)): wrongFingerEnded(outcome)
    case (.consume, .consumed(let fault)): fault.map { wrong("not consumed: \($0)") } ?? advance()
    case (.introspect, .introspected(let fault)): fault.map { wrong("introspected: \($0)") } ?? advance()
    default: preconditionFailure("\(answer) answers no request of \(flow.moves[position])")
    }
  }

  // MARK: Requests

  private mutating func advance() -> Step {
    position += 1
    wrongFingers = 0
    return step()
  }

  private mutating func step() -> Step {
    guard position < flow.moves.count else { return .end(.succeeded) }
    switch flow.moves[position].kind {
    case .bind: return .send(.bind)
    case .preflight: return .send(.preflight)
    case .attempt(let proof, _): return submit(proof, .login)
    case .approve: return submit(.finger, .payment)
    case .consume: return .send(.consume)
    // The phone's report and a wrong signature count alike (R10).
    case .lockOut: return submit(wrongFingers.isMultiple(of: 2) ? .mismatch : .wrongFinger, .login)
    case .changeFinger:
      open = nil
      return .changeFinger
    case .findToken: return hasToken ? advance() : submit(.finger, .login)
    case .introspect: return .send(.introspect)
    }
  }

  private func submit(_ proof: PhoneRequest.Proof, _ purpose: PhoneRequest.Purpose) -> Step {
    .send(open == purpose ? .submit(proof) : .begin(purpose))
  }

  // MARK: Answers

  private mutating func evaluationBegan(_ state: DomainState) -> Step {
    if let isFingerChanged {
      let expected = isFingerChanged ? DomainState.changed : .unchanged
      guard state == expected else { return wrong("the domain state is \(state.rawValue), not \(expected.rawValue)") }
    }
    open = flow.moves[position].kind == .approve ? .payment : .login
    return step()
  }

  private mutating func attemptEnded(
    _ outcome: AttemptOutcome, _ fault: String?, of proof: PhoneRequest.Proof, _ expected: AttemptOutcome
  ) -> Step {
    if !outcome.staysOpen { open = nil }
    // A policy may forgive no wrong attempt in one evaluation.
    guard outcome == expected || (expected == .tryAgain && outcome == .failed) else {
      return wrong("\(proof.rawValue) got \(outcome.rawValue), not \(expected.rawValue)")
    }
    if let fault { return wrong(fault) }
    if outcome == .succeeded, proof != .finger { isFingerChanged = false }
    return advance()
  }

  private mutating func wrongFingerEnded(_ outcome: AttemptOutcome) -> Step {
    if !outcome.staysOpen { open = nil }
    wrongFingers += 1
    switch outcome {
    case .lockedOut: return advance()
    case .tryAgain where wrongFingers < Self.maximumWrongFingers, .failed where wrongFingers < Self.maximumWrongFingers:
      return step()
    case .tryAgain, .failed: return wrong("not locked after \(wrongFingers) wrong fingers")
    default: return wrong("a wrong finger got \(outcome.rawValue)")
    }
  }

  private func wrong(_ reason: String) -> Step {
    .end(.wrong("\(flow.moves[position].action.rawValue): \(reason)"))
  }
}
