// The flows of the people in a load: actions, with weights and think times.

package import LoadModel

package struct Scenario: Sendable {
  /// A class, so that each call refers to its flow without copying it.
  package final class Flow: Sendable {
    package let name: String
    package let weight: Int
    /// Between this flow and the same person's next one.
    package let think: ClosedRange<Duration>
    package let actions: [Action]
    let moves: [Move]

    package init(
      _ name: String, weight: Int = 1, think: ClosedRange<Duration> = .zero ... .zero, _ actions: [Action]
    ) {
      (self.name, self.weight, self.think, self.actions) = (name, weight, think, actions)
      share = actions.map(\.share).max() ?? .common
      introspects = actions.contains(.introspect)
      needsPhone = actions.contains { $0 != .bind }
      moves = actions.flatMap { action in action.moves.map { Move(action: action, kind: $0) } }
    }

    package convenience init(_ action: Action, weight: Int = 1) {
      self.init(action.rawValue, weight: weight, [action])
    }

    /// The most demanding of its actions'.
    package let share: PhoneShare
    package let needsPhone: Bool
    package let introspects: Bool
  }

  package var name: String
  package var application = Scenario.defaultApplication
  package var loginPolicy = "login"
  package var paymentPolicy = "payment"
  package var credential = PhoneCredential.p256
  package let flows: [Flow]
  package let mix: FlowMix

  package static let defaultApplication = "touchstone-load"

  package init(_ name: String, _ flows: [Flow]) {
    self.name = name
    self.flows = flows
    mix = FlowMix(flows.map { FlowMix.Flow(name: $0.name, weight: $0.weight, think: $0.think) })
  }

  package static let builtIn = [
    Scenario("login", [Flow(.login)]),
    Scenario("preflight", [Flow(.preflight)]),
    Scenario("payment", [Flow(.payment)]),
    // A hash of a passcode costs a service as much as a hundred logins, so few people type one.
    Scenario(
      "mixed",
      [
        Flow(.login, weight: 60), Flow(.preflight, weight: 20), Flow(.payment, weight: 10),
        Flow(.introspect, weight: 5), Flow(.passcode), Flow(.gesture), Flow(.wrongFinger), Flow(.changedFinger),
        Flow(.lockout),
      ]),
  ]

  /// Ends a lockout, and makes the present domain state the baseline: a phone serves again after a call that was cut
  /// off.
  package static let recovery = Flow("recovery", [.passcode])

  /// Passcodes and gestures wait for one another, since a service hashes few at a time.
  package var hasSecrets: Bool { flows.contains { $0.share != .common } }

  package func policy(_ purpose: PhoneRequest.Purpose) -> String {
    purpose == .payment ? paymentPolicy : loginPolicy
  }

  /// How many phones of each share so many callers need.
  ///
  /// Flows of the exclusive share take many requests, so that more of the callers are busy with them than their weight
  /// says. A call without a phone waits.
  package func phones(callers: Int, lanes: Int) -> [PhoneShare: Int] {
    let total = flows.reduce(0) { $0 + $1.weight }
    return Dictionary(grouping: flows.filter(\.needsPhone), by: \.share).mapValues { flows in
      let weight = flows.reduce(0) { $0 + $1.weight }
      let busy = (callers * weight * Self.busyFactor + total - 1) / total
      return flows[0].share == .common ? callers : max(lanes, min(callers, busy))
    }
  }

  private static let busyFactor = 4
}
