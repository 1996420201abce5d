// One call: the machine of its flow says what to request, and this shell requests it of the service.

internal import Glibc
internal import LoadModel
internal import LoadScenarios
internal import SimulatedPhone
internal import TouchstoneClient

struct PhoneSession {
  private let work: PhoneWorkload
  /// `nil` in flows that only bind new phones.
  private let phone: LoadPhone?
  private let number: Int
  var hasOtherFace = false

  private var evaluation: [UInt8] = []
  private var signingInput: [UInt8] = []
  private var purpose = PhoneRequest.Purpose.login
  /// The latest successful attempt's.
  private var token = ""
  /// A login whose token can be introspected: an earlier call's, or this one's.
  private var login: KnownLogin?

  /// One token in so many has its signature verified.
  private static let callsPerSignature = 100
  /// It signs for wrong fingers.
  private static let strangersKey = SoftwareKey()

  init(work: PhoneWorkload, phone: LoadPhone?, number: Int) {
    (self.work, self.phone, self.number) = (work, phone, number)
  }

  mutating func run(_ flow: Scenario.Flow, knowsFinger: Bool = true) async -> CallOutcome {
    if flow.introspects { login = lane.login(at: Self.now()) }
    var machine = FlowMachine(flow, hasToken: login != nil, knowsFinger: knowsFinger)
    var step = machine.begin()
    do throws(TouchstoneError) {
      while true {
        switch step {
        case .send(let request):
          let answer = try await answer(to: request)
          lane.answers += 1
          step = machine.next(after: answer)
        case .changeFinger:
          hasOtherFace.toggle()
          step = machine.fingerChanged()
        case .end(let outcome): return outcome
        }
      }
    } catch {
      return CallOutcome(error)
    }
  }

  private mutating func answer(to request: PhoneRequest) async throws(TouchstoneError) -> PhoneAnswer {
    switch request {
    case .bind:
      _ = try await LoadPhone.bind(
        scenario.credential, application: scenario.application, name: lane.newName(), client)
      return .bound
    case .preflight: return try await preflight()
    case .begin(let purpose): return try await begin(purpose)
    case .submit(let proof): return try await submit(proof)
    case .consume: return try await consume()
    case .introspect: return try await introspect()
    }
  }

  private var scenario: Scenario { work.scenario }
  private var client: TouchstoneClient { work.client }
  private var lane: LaneState { work.lane }

  // MARK: Evaluations

  private var posture: V1.DevicePosture { hasOtherFace ? LoadPhone.postureOfOtherFace : LoadPhone.posture }

  /// The machine requests nothing of a phone in a flow without one.
  private var bound: LoadPhone {
    guard let phone else { preconditionFailure("a flow that only binds has no phone") }
    return phone
  }

  /// The payment of this call.
  private var transaction: V1.Transaction {
    V1.Transaction(amount: "12.50", currency: "EUR", payee: "Load", reference: "load-\(number)")
  }

  private func preflight() async throws(TouchstoneError) -> PhoneAnswer {
    let answer = try await client.canEvaluatePolicy(encoded: preflightRequest())
    return .preflight(canEvaluate: answer.canEvaluate)
  }

  private func preflightRequest() throws(TouchstoneError) -> [UInt8] {
    if !hasOtherFace, let known = lane.preflights[bound.bindingID] { return known }
    let request = try client.canEvaluatePolicy.encode(
      V1.CanEvaluatePolicyRequest(
        applicationID: scenario.application, policy: scenario.loginPolicy, bindingID: bound.bindingID, posture: posture)
    )
    if !hasOtherFace { lane.keep(preflight: request, of: bound.bindingID) }
    return request
  }

  private mutating func begin(_ purpose: PhoneRequest.Purpose) async throws(TouchstoneError) -> PhoneAnswer {
    self.purpose = purpose
    let begun = try await client.beginEvaluation(
      V1.BeginEvaluationRequest(
        applicationID: scenario.application, policy: scenario.policy(purpose), bindingID: bound.bindingID,
        localizedReason: "Log in", transaction: purpose == .payment ? transaction : nil, posture: posture))
    if let denial = begun.denial { return .denied(denial.reason) }
    (evaluation, signingInput) = (begun.evaluation, begun.signingInput)
    return .begun(DomainState(begun.domainState))
  }

  private mutating func submit(_ proof: PhoneRequest.Proof) async throws(TouchstoneError) -> PhoneAnswer {
    let answer = try await client.submitAttempt(
      V1.SubmitAttemptRequest(
        applicationID: scenario.application, evaluation: evaluation, attempt: attempt(proof),
        posture: posture))
    let outcome = AttemptOutcome(answer.outcome)
    guard outcome == .succeeded else { return .attempt(outcome, fault: nil) }
    token = answer.token
    return .attempt(outcome, fault: try await fault(of: answer))
  }

  private func attempt(_ proof: PhoneRequest.Proof) -> V1.SubmitAttemptRequest.Attempt {
    switch proof {
    case .finger: bound.attempt(over: signingInput)
    case .wrongFinger: .key(V1.KeyProof(signature: Self.strangersKey.sign(signingInput), factor: .biometry))
    case .mismatch: .report(V1.DeviceReport(laError: .authenticationFailed))
    case .passcode: .passcode(LoadPhone.passcode)
    case .gesture: .gesture(LoadPhone.gesture)
    }
  }

  // MARK: Tokens

  /// The fault of a success's token, or `nil`. All claims are checked, and the signatures of a sample.
  private mutating func fault(of answer: V1.SubmitAttemptResponse) async throws(TouchstoneError) -> String? {
    let now = Self.now()
    var parts: TokenCheck.Parts?
    let expected = TokenExpectation(
      purpose, application: scenario.application, policy: scenario.policy(purpose), bindingID: bound.bindingID,
      profileID: bound.profileID, expiresAt: answer.tokenExpiresAt?.seconds ?? 0)
    let wantsParts = number.isMultiple(of: Self.callsPerSignature)
    if let fault = lane.tokens.fault(in: token, expected, now: now, parts: &parts, wantsParts: wantsParts) {
      return fault
    }
    if purpose == .login {
      login = KnownLogin(token: token, bindingID: bound.bindingID, expiresAt: expected.expiresAt)
      lane.latestLogin = login
    }
    guard let parts else { return nil }
    return try await lane.signatureFault(parts, client)
  }

  private func consume() async throws(TouchstoneError) -> PhoneAnswer {
    let answer = try await client.consumeToken(
      V1.ConsumeTokenRequest(applicationID: scenario.application, token: token, transaction: transaction))
    guard answer.consumed else { return .consumed(fault: answer.reason) }
    return .consumed(fault: fault(in: answer.claims, .payment, bindingID: bound.bindingID))
  }

  private func introspect() async throws(TouchstoneError) -> PhoneAnswer {
    guard let login else { preconditionFailure("a login came before") }
    let answer = try await client.introspectToken(
      V1.IntrospectTokenRequest(applicationID: scenario.application, token: login.token))
    guard answer.active else { return .introspected(fault: "the token is not active") }
    return .introspected(fault: fault(in: answer.claims, .login, bindingID: login.bindingID))
  }

  private func fault(in claims: V1.TokenClaims?, _ purpose: PhoneRequest.Purpose, bindingID: String) -> String? {
    guard let claims else { return "no claims" }
    guard claims.applicationID == scenario.application else { return "the claims' application" }
    guard claims.policy == scenario.policy(purpose) else { return "the claims' policy" }
    guard claims.bindingID == bindingID else { return "the claims' binding" }
    guard claims.singleUse == (purpose == .payment) else { return "the claims' single_use" }
    return (purpose == .payment) == (claims.transaction == transaction) ? nil : "the claims' transaction"
  }

  private static func now() -> Int64 { Int64(time(nil)) }
}

extension AttemptOutcome {
  init(_ outcome: V1.Outcome) {
    self =
      switch outcome {
      case .succeeded: .succeeded
      case .tryAgain: .tryAgain
      case .failed: .failed
      case .canceled: .canceled
      case .fallback: .fallback
      case .lockedOut: .lockedOut
      case .factorRequired: .factorRequired
      case .invalidContext: .invalidContext
      default: .unknown
      }
  }
}

extension DomainState {
  init(_ verdict: V1.DomainStateVerdict) {
    self =
      switch verdict {
      case .unchanged: .unchanged
      case .changed: .changed
      default: .other
      }
  }
}

extension CallOutcome {
  init(_ error: TouchstoneError) {
    self = error.code == .deadlineExceeded ? .timedOut : .failed(status: error.code.description)
  }
}
