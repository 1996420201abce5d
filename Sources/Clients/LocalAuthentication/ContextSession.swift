internal import Foundation
internal import SimulatedPhone
internal import Synchronization

/// The state of one `LAContext`: its settings, its knowledge of the phone, its open evaluation. Keys that were fetched
/// with a context hold it, too.
final class ContextSession: Sendable {
  struct Settings: Sendable {
    var fallbackTitle: String?
    var cancelTitle: String?
    var localizedReason = ""
    var allowableReuseSeconds: TimeInterval = 0
    var isInteractionForbidden = false
    var maxBiometryFailures: NSNumber?
  }

  private struct State {
    var settings = Settings()
    var biometryType = LABiometryType.none
    var domainState: Data?
    var applicationPassword: Data?
    /// Earlier proofs need no second prompt.
    var authentications: [SimulatedPhone.Authentication] = []
    var isInvalidated = false
    var evaluationsBegun = 0
    var open: [Int: OpenEvaluation] = [:]
  }

  private enum OpenEvaluation {
    /// The request went to the phone; the reply may come before the evaluation's id.
    case starting
    case prompting(SimulatedPhone.EvaluationID)
  }

  /// Called once with the result of an evaluation: `nil` for success.
  typealias Reply = @Sendable (LAError?) -> Void

  let simulation: LASimulation
  private let state = Mutex(State())

  init(_ simulation: LASimulation) {
    self.simulation = simulation
  }

  var settings: Settings { state.withLock { $0.settings } }

  func updateSettings(_ change: (inout Settings) -> Void) {
    state.withLock { change(&$0.settings) }
  }

  var biometryType: LABiometryType { state.withLock { $0.biometryType } }

  var domainState: Data? { state.withLock { $0.domainState } }

  var currentDomainState: LADomainState {
    LADomainState(biometryType: LABiometryType(of: simulation.phone), stateHash: readDomainState())
  }

  var applicationPassword: Data? { state.withLock { $0.applicationPassword } }

  /// - Returns: whether the context is still valid.
  func setApplicationPassword(_ password: Data?) -> Bool {
    state.withLock { state in
      if !state.isInvalidated { state.applicationPassword = password }
      return !state.isInvalidated
    }
  }

  /// The proofs that may open keys and items.
  var authentications: [SimulatedPhone.Authentication] { state.withLock { $0.authentications } }

  /// - Returns: why `policy` cannot be evaluated; `nil`: it can.
  func preflight(_ policy: LAPolicy) -> LAError? {
    state.withLock { state in
      guard !state.isInvalidated else { return LAError(describing: .invalidContext) }
      state.biometryType = LABiometryType(of: simulation.phone)
      guard let simulated = policy.simulated else { return LAError(describing: .companionNotAvailable) }
      let obstacle = simulation.phone.obstacle(to: simulated, for: simulation.application)
      if simulated == .deviceOwnerAuthenticationWithBiometrics { state.domainState = readDomainState() }
      return obstacle.map(LAError.init)
    }
  }

  /// - Parameter reply: never called on the caller's thread.
  func evaluate(_ policy: LAPolicy, localizedReason: String, reply: @escaping Reply) {
    guard let simulated = policy.simulated else {
      let isInvalidated = state.withLock { $0.isInvalidated }
      let error = LAError(describing: isInvalidated ? .invalidContext : .companionNotAvailable)
      return replying { reply(error) }
    }
    evaluate(simulated, localizedReason: localizedReason, reply: reply)
  }

  /// - Parameter reply: never called on the caller's thread.
  func evaluate(
    _ accessControl: SimulatedPhone.AccessControl, for operation: LAAccessControlOperation, localizedReason: String,
    reply: @escaping Reply
  ) {
    guard operation.isUse else { return endWithoutPrompt(reply) }
    prove(localizedReason: localizedReason, reply: reply) { phone, authentications in
      phone.demand(of: accessControl, after: authentications, application: self.simulation.application)
    }
  }

  /// Proves one thing after the other until everything required is proven.
  func prove(
    localizedReason: String, reply: @escaping Reply,
    until demand: @escaping @Sendable (SimulatedPhone, [SimulatedPhone.Authentication]) -> SimulatedPhone.Policy?
  ) {
    guard let policy = demand(simulation.phone, authentications) else { return endWithoutPrompt(reply) }
    evaluate(policy, localizedReason: localizedReason) { error in
      if let error { return reply(error) }
      self.prove(localizedReason: localizedReason, reply: reply, until: demand)
    }
  }

  /// The same for callers that block, as those of the keychain and of keys do. Blocks only while a prompt is shown, and
  /// needs no other thread to go on.
  func proveAndWait(
    until demand: (SimulatedPhone, [SimulatedPhone.Authentication]) -> SimulatedPhone.Policy?
  ) -> LAError? {
    while let policy = demand(simulation.phone, authentications) {
      if let refusal = evaluateAndWait(policy) { return refusal }
    }
    return invalidity
  }

  func invalidate() {
    let prompting = state.withLock { state in
      state.isInvalidated = true
      state.authentications = []
      state.applicationPassword = nil
      defer { state.open.removeAll() }
      return state.open.values.compactMap { if case .prompting(let id) = $0 { id } else { nil } }
    }
    prompting.forEach(simulation.phone.cancel)
  }
}

extension ContextSession {
  private enum OnBegin: Sendable {
    case replying(LAError?)
    case asking(SimulatedPhone.EvaluationRequest, number: Int)
  }

  private func evaluate(_ policy: SimulatedPhone.Policy, localizedReason: String, reply: @escaping Reply) {
    switch begin(policy, localizedReason: localizedReason) {
    case .replying(let error):
      replying { reply(error) }
    case .asking(let request, let number):
      let id = simulation.phone.evaluate(request) { result in reply(self.end(number, result)) }
      if let id { name(number, id) }
    }
  }

  private func evaluateAndWait(_ policy: SimulatedPhone.Policy) -> LAError? {
    switch begin(policy, localizedReason: settings.localizedReason) {
    case .replying(let error): return error
    case .asking(let request, let number):
      let result = simulation.phone.evaluateAndWait(request) { id in if let id { name(number, id) } }
      return end(number, result)
    }
  }

  private func begin(_ policy: SimulatedPhone.Policy, localizedReason: String) -> OnBegin {
    state.withLock { state in
      guard !state.isInvalidated else { return .replying(LAError(describing: .invalidContext)) }
      if state.authentications.contains(where: { policy.factors.contains($0.factor) }) { return .replying(nil) }
      state.evaluationsBegun += 1
      state.open[state.evaluationsBegun] = .starting
      let request = SimulatedPhone.EvaluationRequest(
        policy, application: simulation.application, localizedReason: localizedReason,
        fallbackTitle: state.settings.fallbackTitle, cancelTitle: state.settings.cancelTitle,
        isInteractionForbidden: state.settings.isInteractionForbidden,
        allowedReuse: state.settings.allowedReuse)
      return .asking(request, number: state.evaluationsBegun)
    }
  }

  private func endWithoutPrompt(_ reply: @escaping Reply) {
    let error = invalidity
    replying { reply(error) }
  }

  private var invalidity: LAError? {
    state.withLock { $0.isInvalidated } ? LAError(describing: .invalidContext) : nil
  }

  /// The phone has given the evaluation's id. If the context was invalidated meanwhile, the evaluation is cancelled at
  /// once.
  private func name(_ number: Int, _ id: SimulatedPhone.EvaluationID) {
    let isInvalidated = state.withLock { state in
      if state.open[number] != nil { state.open[number] = .prompting(id) }
      return state.isInvalidated
    }
    if isInvalidated { simulation.phone.cancel(id) }
  }

  private func end(
    _ number: Int, _ result: Result<SimulatedPhone.Authentication, SimulatedPhone.Failure>
  ) -> LAError? {
    state.withLock { state in
      state.open[number] = nil
      switch result {
      case .failure(let failure): return LAError(failure)
      case .success(let authentication):
        if state.isInvalidated { return nil }
        state.authentications.append(authentication)
        if authentication.factor == .biometry { state.domainState = readDomainState() }
        return nil
      }
    }
  }

  private func readDomainState() -> Data? {
    simulation.phone.domainState(for: simulation.application).map { Data($0) }
  }
}

extension ContextSession.Settings {
  /// A negative, infinite or undefined number must not reach `Duration`, which would trap.
  fileprivate var allowedReuse: Duration {
    guard allowableReuseSeconds > 0 else { return .zero }
    return .seconds(min(allowableReuseSeconds, LATouchIDAuthenticationMaximumAllowableReuseDuration))
  }
}
