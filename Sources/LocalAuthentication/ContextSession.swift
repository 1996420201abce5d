// What an LAContext remembers: its settings, what it learned of the phone, what it has open.

internal import Dispatch
internal import Foundation
internal import SimulatedPhone
internal import Synchronization

/// The state of one `LAContext`. Replies hold on to it and not to the context, whose end must end its evaluations.
final class ContextSession: Sendable {
  struct Settings: Sendable {
    var fallbackTitle: String?
    var cancelTitle: String?
    var allowableReuseSeconds: TimeInterval = 0
    var isInteractionForbidden = false
  }

  private struct State {
    var settings = Settings()
    var biometryType = LABiometryType.none
    var domainState: Data?
    /// A context that has succeeded needs no second prompt.
    var authentication: SimulatedPhone.Authentication?
    var isInvalidated = false
    var evaluationsBegun = 0
    var open: [Int: OpenEvaluation] = [:]
  }

  private enum OpenEvaluation {
    /// The phone has been asked; its reply may be faster than the evaluation's name.
    case starting
    case prompting(SimulatedPhone.EvaluationID)
  }

  private let simulation: LASimulation
  private let state = Mutex(State())
  /// For replies that no phone was asked for. Concurrent, so that a reply that blocks holds up no other.
  private static let replyQueue = DispatchQueue(label: "LocalAuthentication.replies", attributes: .concurrent)

  init(_ simulation: LASimulation) {
    self.simulation = simulation
  }

  var settings: Settings { state.withLock { $0.settings } }

  func updateSettings(_ change: (inout Settings) -> Void) {
    state.withLock { change(&$0.settings) }
  }

  var biometryType: LABiometryType { state.withLock { $0.biometryType } }

  var domainState: Data? { state.withLock { $0.domainState } }

  /// - Returns: why `policy` cannot be evaluated; `nil`: it can.
  func preflight(_ policy: LAPolicy) -> LAError? {
    state.withLock { state in
      guard !state.isInvalidated else { return LAError(describing: .invalidContext) }
      state.biometryType = LABiometryType(of: simulation.phone)
      guard let simulated = policy.simulated else { return LAError(describing: .companionNotAvailable) }
      let obstacle = simulation.phone.obstacle(to: simulated)
      if simulated == .deviceOwnerAuthenticationWithBiometrics {
        state.domainState = simulation.phone.domainState(for: simulation.application).map { Data($0) }
      }
      return obstacle.map(LAError.init)
    }
  }

  /// - Parameter reply: `nil` for success. Called once, never on the caller's thread.
  func evaluate(_ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (LAError?) -> Void) {
    switch begin(policy, localizedReason: localizedReason) {
    case .replying(let error):
      Self.replyQueue.async { reply(error) }
    case .asking(let request, let number):
      let id = simulation.phone.evaluate(request) { result in
        self.end(number, result)
        switch result {
        case .success: reply(nil)
        case .failure(let failure): reply(LAError(failure))
        }
      }
      if let id { name(number, id) }
    }
  }

  func invalidate() {
    let prompting = state.withLock { state in
      state.isInvalidated = true
      state.authentication = nil
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

  private func begin(_ policy: LAPolicy, localizedReason: String) -> OnBegin {
    state.withLock { state in
      guard !state.isInvalidated else { return .replying(LAError(describing: .invalidContext)) }
      guard let simulated = policy.simulated else { return .replying(LAError(describing: .companionNotAvailable)) }
      if let authentication = state.authentication, simulated.accepts(authentication.factor) { return .replying(nil) }
      state.evaluationsBegun += 1
      state.open[state.evaluationsBegun] = .starting
      let request = SimulatedPhone.EvaluationRequest(
        simulated, application: simulation.application, localizedReason: localizedReason,
        fallbackTitle: state.settings.fallbackTitle, cancelTitle: state.settings.cancelTitle,
        isInteractionForbidden: state.settings.isInteractionForbidden,
        allowedReuse: state.settings.allowedReuse)
      return .asking(request, number: state.evaluationsBegun)
    }
  }

  /// The phone has named the evaluation. Where the context was invalidated meanwhile, it is taken back at once.
  private func name(_ number: Int, _ id: SimulatedPhone.EvaluationID) {
    let isInvalidated = state.withLock { state in
      if state.open[number] != nil { state.open[number] = .prompting(id) }
      return state.isInvalidated
    }
    if isInvalidated { simulation.phone.cancel(id) }
  }

  private func end(_ number: Int, _ result: Result<SimulatedPhone.Authentication, SimulatedPhone.Failure>) {
    state.withLock { state in
      state.open[number] = nil
      guard case .success(let authentication) = result, !state.isInvalidated else { return }
      state.authentication = authentication
      if authentication.factor == .biometry {
        state.domainState = simulation.phone.domainState(for: simulation.application).map { Data($0) }
      }
    }
  }
}

extension ContextSession.Settings {
  /// What is negative, infinite or no number at all must not reach `Duration`, which would trap.
  fileprivate var allowedReuse: Duration {
    guard allowableReuseSeconds > 0 else { return .zero }
    return .seconds(min(allowableReuseSeconds, LATouchIDAuthenticationMaximumAllowableReuseDuration))
  }
}
