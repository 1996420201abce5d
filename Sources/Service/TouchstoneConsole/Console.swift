// The console: what operators see of the service in a browser, and what they do there. Every page is made here, and the
// browser runs no script.

internal import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCrypto
package import TouchstonePolicy
package import TouchstoneService

/// The settings that a reload may replace.
package struct ConsoleSettings: Sendable {
  /// `nil`: the configuration has no operators, and there is no console.
  package var operators: [OperatorDefinition]?
  package var policies: [EvaluationPolicy]
  /// Applications that the configuration names, as suggestions.
  package var applications: [String]

  package init(operators: [OperatorDefinition]?, policies: [EvaluationPolicy], applications: [String]) {
    self.operators = operators
    self.policies = policies
    self.applications = applications
  }
}

/// The console of one process. Its sessions are its own: operators sign in at each replica.
package final class Console: Sendable {
  struct State {
    var operators: OperatorRegister?
    var policies: [EvaluationPolicy]
    var applications: [String]
    var sessions = SessionTable()
    var signIns = SignInGuard()
  }

  let service: TouchstoneService
  let methods: MethodTable
  let loop: ConsoleLoop
  let ids: SessionIDs
  let browsers: BrowserProofs
  /// `nil`: browsers reach the console by the address that it serves.
  let url: ConsoleURL?
  let passwords: PasswordChecks
  let state: Mutex<State>
  let clock: ServiceEnvironment.Clock
  let health: @Sendable () async -> ConsoleHealth

  /// - Parameters:
  ///   - eventLoop: an index of the service's event loops, which no other calls use.
  ///   - url: the console's in browsers, if a proxy gives it another one.
  ///   - secrets: verifies passwords, and nothing else.
  ///   - health: reads the state of this process and its store.
  package init(
    _ settings: ConsoleSettings, service: TouchstoneService, eventLoop: Int, ids: SessionIDs,
    browsers: BrowserProofs, url: ConsoleURL?, secrets: any SecretExecutor, clock: @escaping ServiceEnvironment.Clock,
    health: @escaping @Sendable () async -> ConsoleHealth
  ) {
    self.service = service
    methods = service.methods
    loop = ConsoleLoop(index: eventLoop)
    self.ids = ids
    self.browsers = browsers
    self.url = url
    passwords = PasswordChecks(executor: secrets)
    state = Mutex(
      State(
        operators: settings.operators.map(OperatorRegister.init), policies: settings.policies,
        applications: settings.applications))
    self.clock = clock
    self.health = health
  }

  /// Ends the sessions of operators that are gone, or have another password. Other changes count from the next page on.
  package func replace(_ settings: ConsoleSettings) {
    let operators = settings.operators.map(OperatorRegister.init)
    state.withLock { state in
      if let before = state.operators {
        let ended = before.namesEnded(by: operators ?? OperatorRegister([]))
        state.sessions.end(of: ended)
      }
      state.operators = operators
      state.policies = settings.policies
      state.applications = settings.applications
    }
  }

  /// How many operators are signed in.
  package var sessionCount: Int { state.withLock { $0.sessions.count } }
}
