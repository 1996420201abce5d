import LoadModel
import Testing

@testable import LoadScenarios

@Suite("A person in a flow")
struct FlowMachineTests {
  /// Plays a flow against a service that answers everything as it should; returns what was requested.
  private static func requests(_ flow: Scenario.Flow, hasToken: Bool = false) -> (
    steps: [FlowMachine.Step], CallOutcome
  ) {
    var machine = FlowMachine(flow, hasToken: hasToken)
    var service = RightService()
    var steps: [FlowMachine.Step] = []
    var step = machine.begin()
    while true {
      switch step {
      case .end(let outcome): return (steps, outcome)
      case .changeFinger:
        service.isFingerChanged = true
        steps.append(step)
        step = machine.fingerChanged()
      case .send(let request):
        steps.append(step)
        step = machine.next(after: service.answer(request))
      }
    }
  }

  @Test("Every action ends well with a service that does as it should", arguments: Action.allCases)
  func right(action: Action) {
    #expect(Self.requests(Scenario.Flow(action)).1 == .succeeded)
  }

  private static let begun = FlowMachine.Step.send(.begin(.login))
  private static func submit(_ proof: PhoneRequest.Proof) -> FlowMachine.Step { .send(.submit(proof)) }

  private static let expected: [(Action, Bool, [FlowMachine.Step])] = [
    (.bind, false, [.send(.bind)]),
    (.preflight, false, [.send(.preflight)]),
    (.login, false, [begun, submit(.finger)]),
    (.payment, false, [.send(.begin(.payment)), submit(.finger), .send(.consume)]),
    (.passcode, false, [begun, submit(.passcode)]),
    (.gesture, false, [begun, submit(.gesture)]),
    // The evaluation stays open after a wrong attempt.
    (.wrongFinger, false, [begun, submit(.wrongFinger), submit(.finger)]),
    (
      .changedFinger, false,
      [.changeFinger, begun, submit(.finger), submit(.passcode), begun, submit(.finger)]
    ),
    // Three end an evaluation, five lock the phone.
    (
      .lockout, false,
      [
        begun, submit(.mismatch), submit(.wrongFinger), submit(.mismatch), begun, submit(.wrongFinger),
        submit(.mismatch), begun, submit(.finger), begun, submit(.passcode), begun, submit(.finger),
      ]
    ),
    (.introspect, false, [begun, submit(.finger), .send(.introspect)]),
    (.introspect, true, [.send(.introspect)]),
  ]

  @Test("What an action requests", arguments: expected)
  func steps(action: Action, hasToken: Bool, steps: [FlowMachine.Step]) {
    #expect(Self.requests(Scenario.Flow(action), hasToken: hasToken).steps == steps)
  }

  @Test("A flow of several actions is one after the other")
  func sequence() {
    let flow = Scenario.Flow("shop", [.preflight, .login, .payment])
    let (steps, outcome) = Self.requests(flow)
    #expect(outcome == .succeeded)
    #expect(steps.count == 6)
  }

  /// The last answer is the wrong one.
  private static let wrong: [(Action, [PhoneAnswer], String)] = [
    (.preflight, [.preflight(canEvaluate: false)], "preflight: it cannot be evaluated"),
    (.login, [.denied("OS_TOO_OLD")], "login: denied with OS_TOO_OLD"),
    (.login, [.begun(.changed)], "login: the domain state is CHANGED, not UNCHANGED"),
    (.login, [.begun(.unchanged), .attempt(.tryAgain, fault: nil)], "login: finger got TRY_AGAIN, not SUCCEEDED"),
    (.login, [.begun(.unchanged), .attempt(.succeeded, fault: "no token")], "login: no token"),
    (
      .payment, [.begun(.unchanged), .attempt(.succeeded, fault: nil), .consumed(fault: "ALREADY_CONSUMED")],
      "payment: not consumed: ALREADY_CONSUMED"
    ),
    (
      .wrongFinger, [.begun(.unchanged), .attempt(.succeeded, fault: nil)],
      "wrong_finger: a wrong finger got SUCCEEDED, not TRY_AGAIN"
    ),
    (
      .changedFinger, [.begun(.changed), .attempt(.succeeded, fault: nil)],
      "changed_finger: finger got SUCCEEDED, not FACTOR_REQUIRED"
    ),
    (.changedFinger, [.begun(.unchanged)], "changed_finger: the domain state is UNCHANGED, not CHANGED"),
    (
      .lockout, [.begun(.unchanged), .attempt(.tryAgain, fault: nil), .attempt(.succeeded, fault: nil)],
      "lockout: a wrong finger got SUCCEEDED"
    ),
    (
      .lockout,
      [.begun(.unchanged), .attempt(.lockedOut, fault: nil), .begun(.unchanged), .attempt(.succeeded, fault: nil)],
      "lockout: finger got SUCCEEDED, not LOCKED_OUT"
    ),
    (
      .introspect, [.begun(.unchanged), .attempt(.succeeded, fault: nil), .introspected(fault: "no claims")],
      "introspect: introspected: no claims"
    ),
  ]

  @Test("What is answered otherwise is wrong, with the reason", arguments: wrong)
  func wrongAnswers(action: Action, answers: [PhoneAnswer], reason: String) {
    var machine = FlowMachine(Scenario.Flow(action))
    var step = machine.begin()
    if step == .changeFinger { step = machine.fingerChanged() }
    for answer in answers {
      if case .end = step { Issue.record("ended before \(answer)") }
      step = machine.next(after: answer)
    }
    #expect(step == .end(.wrong(reason)))
  }

  @Test("A service that never locks is wrong, after as many wrong fingers as any policy forgives")
  func neverLocks() {
    var machine = FlowMachine(Scenario.Flow(.lockout))
    var step = machine.begin()
    var count = 0
    while case .send(let request) = step, count < 100 {
      if case .submit = request { count += 1 }
      step = machine.next(after: request == .begin(.login) ? .begun(.unchanged) : .attempt(.tryAgain, fault: nil))
    }
    #expect(count == 10)
    #expect(step == .end(.wrong("lockout: not locked after 10 wrong fingers")))
  }

  @Test("A denial is as good as a lock, where no other factor is left")
  func denied() {
    var machine = FlowMachine(Scenario.Flow(.lockout))
    _ = machine.begin()
    _ = machine.next(after: .begun(.unchanged))
    _ = machine.next(after: .attempt(.lockedOut, fault: nil))
    #expect(machine.next(after: .denied("BIOMETRY_LOCKOUT")) == .send(.begin(.login)))
  }

  @Test("The recovery takes any domain state, and makes it the baseline")
  func recovery() {
    for state in [DomainState.unchanged, .changed] {
      var machine = FlowMachine(Scenario.recovery, knowsFinger: false)
      #expect(machine.begin() == Self.begun)
      #expect(machine.next(after: .begun(state)) == Self.submit(.passcode))
      #expect(machine.next(after: .attempt(.succeeded, fault: nil)) == .end(.succeeded))
    }
  }
}

/// Three wrong attempts for each evaluation, five for each phone.
private struct RightService {
  var isFingerChanged = false
  private var failures = 0
  private var failuresInEvaluation = 0

  mutating func answer(_ request: PhoneRequest) -> PhoneAnswer {
    switch request {
    case .bind: return .bound
    case .preflight: return .preflight(canEvaluate: true)
    case .begin:
      failuresInEvaluation = 0
      return .begun(isFingerChanged ? .changed : .unchanged)
    case .submit(let proof): return .attempt(outcome(of: proof), fault: nil)
    case .consume: return .consumed(fault: nil)
    case .introspect: return .introspected(fault: nil)
    }
  }

  private mutating func outcome(of proof: PhoneRequest.Proof) -> AttemptOutcome {
    switch proof {
    case .passcode, .gesture:
      (failures, isFingerChanged) = (0, false)
      return .succeeded
    case .finger:
      if failures >= 5 { return .lockedOut }
      if isFingerChanged { return .factorRequired }
      failures = 0
      return .succeeded
    case .wrongFinger, .mismatch:
      failures += 1
      failuresInEvaluation += 1
      return failures >= 5 ? .lockedOut : failuresInEvaluation == 3 ? .failed : .tryAgain
    }
  }
}
