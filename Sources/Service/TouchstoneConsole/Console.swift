// The console: what operators see of the service in a browser, and what they do there. Every page is made here. The
// browser runs a script for passkeys alone.

internal import Synchronization
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

/// The proofs that an operator of the configuration signs in with.
package enum SignInRule: String, CaseIterable, Sendable {
  case password
  case passwordAndPasskey = "password_and_passkey"
  /// The password serves until the account has its first passkey.
  case passkey
}

/// The console of one process. Its locks are its own; sessions hold on every replica.
package final class Console: Sendable {
  struct State {
    var operators: OperatorRegister?
    var policies: [EvaluationPolicy]
    var applications: [String]
    var signIns = SignInGuard()
  }

  let service: TouchstoneService
  let methods: MethodTable
  let loop: ConsoleLoop
  let browsers: BrowserProofs
  /// `nil`: browsers reach the console by the address that it serves.
  let url: ConsoleURL?
  let signInRule: SignInRule
  let provider: OpenIDProvider?
  let passwords: PasswordChecks
  let state: Mutex<State>
  let clock: ServiceEnvironment.Clock
  let health: @Sendable () async -> ConsoleHealth

  /// - Parameters:
  ///   - eventLoop: an index of the service's event loops, which no other calls use.
  ///   - url: the console's in browsers, if a proxy gives it another one.
  ///   - provider: the identity provider; `nil`: all operators are the configuration's.
  ///   - secrets: verifies passwords, and nothing else.
  ///   - health: reads the state of this process and its store.
  package init(
    _ settings: ConsoleSettings, service: TouchstoneService, eventLoop: Int, browsers: BrowserProofs, url: ConsoleURL?,
    signInRule: SignInRule, provider: OpenIDProvider?, secrets: any SecretExecutor,
    clock: @escaping ServiceEnvironment.Clock,
    health: @escaping @Sendable () async -> ConsoleHealth
  ) {
    self.service = service
    methods = service.methods
    loop = ConsoleLoop(index: eventLoop) { service.roundEnded(on: $0) }
    self.browsers = browsers
    self.url = url
    self.signInRule = signInRule
    self.provider = provider
    passwords = PasswordChecks(executor: secrets)
    state = Mutex(
      State(
        operators: settings.operators.map(OperatorRegister.init), policies: settings.policies,
        applications: settings.applications))
    self.clock = clock
    self.health = health
  }

  /// Counts from the next page on: sessions of operators that are gone or have another password are over then.
  package func replace(_ settings: ConsoleSettings) {
    let operators = settings.operators.map(OperatorRegister.init)
    state.withLock { state in
      state.operators = operators
      state.policies = settings.policies
      state.applications = settings.applications
    }
  }
}
