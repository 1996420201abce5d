import LoadModel
import LoadScenarios
import Testing

@Suite("Scenario files")
struct ScenarioFileTests {
  private static func read(_ yaml: String) throws(ScenarioError) -> Scenario {
    try Scenario(yaml: Array(yaml.utf8), path: "etc/shop.yaml")
  }

  @Test("Everything that a file can say")
  func whole() throws {
    let scenario = try Self.read(
      """
      application: shop
      login_policy: unlock
      payment_policy: high_value
      credential: hybrid
      think: 1s-3s
      flows:
        - {name: checkout, weight: 10, actions: [preflight, login, payment], think: 500ms}
        - actions: login
        - {actions: [login, introspect], weight: 3}
      """)
    #expect(scenario.name == "shop.yaml")
    #expect(scenario.application == "shop")
    #expect(scenario.policy(.login) == "unlock")
    #expect(scenario.policy(.payment) == "high_value")
    #expect(scenario.credential == .hybrid)
    #expect(scenario.flows.map(\.name) == ["checkout", "login", "login+introspect"])
    #expect(scenario.flows.map(\.weight) == [10, 1, 3])
    #expect(scenario.flows[0].actions == [.preflight, .login, .payment])
    #expect(scenario.flows[0].think == .milliseconds(500) ... .milliseconds(500))
    #expect(scenario.flows[1].think == .seconds(1) ... .seconds(3))
    #expect(scenario.mix.flows.map(\.weight) == [10, 1, 3])
  }

  @Test("What is not said is as in the scenarios that are built in")
  func defaults() throws {
    let scenario = try Self.read("flows: [{actions: login}]")
    #expect(scenario.application == "touchstone-load")
    #expect(scenario.policy(.login) == "login")
    #expect(scenario.policy(.payment) == "payment")
    #expect(scenario.credential == .p256)
    #expect(scenario.flows[0].think.upperBound == .zero)
  }

  private static let wrong: [(yaml: String, line: String)] = [
    ("", "1:1: a scenario needs flows"),
    ("- login", "1:1: a scenario must be a mapping of settings"),
    ("flows: [", "2:1: did not find expected node content"),
    ("flows: []", "1:8: flows must be 1 to 64"),
    ("flows: login", "1:8: flows must be a list"),
    ("flows: [login]", "1:9: a flow must be a mapping of settings"),
    ("flows: [{weight: 1}]", "1:9: a flow needs actions"),
    ("flows: [{actions: []}]", "1:19: actions must be 1 to 16"),
    ("flows: [{actions: [[]]}]", "1:20: an action must be one of \(words)"),
    (
      "flows: [{actions: logn}]",
      "1:19: actions must be one of \(words), not \"logn\" (did you mean \"login\"?)"
    ),
    (
      "flows:\n  - actions: login\n    wieght: 2\n",
      "3:5: \"wieght\" is not a setting of a flow (did you mean \"weight\"?)"
    ),
    (
      "thinks: 1s\nflows: [{actions: login}]",
      "1:1: \"thinks\" is not a setting of a scenario (did you mean \"think\"?)"
    ),
    ("flows: [{actions: login, weight: 0}]", "1:34: weight must be 1 to 1000000"),
    ("flows: [{actions: login, weight: -5}]", "1:34: weight must be 1 to 1000000"),
    ("flows: [{actions: login, weight: 1000001}]", "1:34: weight must be 1 to 1000000"),
    ("flows: [{actions: login, weight: 0.5}]", "1:34: weight must be a whole number"),
    ("flows: [{actions: login, weight: 10%}]", "1:34: weight must be a whole number"),
    ("flows: [{actions: login, think: 5}]", "1:33: think \(time)"),
    ("flows: [{actions: login, think: 5 s}]", "1:33: think \(time)"),
    ("flows: [{actions: login, think: 5min}]", "1:33: think \(time)"),
    ("flows: [{actions: login, think: 3s-1s}]", "1:33: think \(time)"),
    ("flows: [{actions: login, think: -1s}]", "1:33: think \(time)"),
    ("flows: [{actions: login, think: 2h}]", "1:33: think \(time)"),
    ("think: soon\nflows: [{actions: login}]", "1:8: think \(time)"),
    ("flows:\n- actions: login\n- actions: [login]\n", "3:3: two flows are named \"login\""),
    ("application: ''\nflows: [{actions: login}]", "1:14: application must be 1 to 128 bytes"),
    (
      "login_policy: 'a\"b'\nflows: [{actions: login}]",
      "1:15: login_policy must be without control characters, quotes and backslashes"
    ),
    (
      "credential: passkeys\nflows: [{actions: login}]",
      "1:13: credential must be one of p256, hybrid, passkey, not \"passkeys\" (did you mean \"passkey\"?)"
    ),
    (
      "credential: passkey\nflows: [{actions: [login, lockout]}]",
      "2:19: lockout needs phones, and credential is passkey"
    ),
    ("think: 1s\nthink: 2s\nflows: [{actions: login}]", "2:1: \"think\" appears twice"),
  ]

  private static let words = Action.allCases.map(\.rawValue).joined(separator: ", ")
  private static let time = "must be a time such as 500ms, 2s or 1m, or two as in 1s-3s, up to 1h"

  @Test("What is wrong with a file, and where", arguments: wrong)
  func errors(yaml: String, line: String) throws {
    let error = #expect(throws: ScenarioError.self) { try Self.read(yaml) }
    #expect(error?.description == "etc/shop.yaml:\(line)")
  }

  @Test("The scenarios that are built in")
  func builtIn() throws {
    #expect(Scenario.builtIn.map(\.name) == ["login", "preflight", "payment", "mixed"])
    let mixed = try #require(Scenario.builtIn.last)
    #expect(mixed.flows.reduce(0) { $0 + $1.weight } == 100)
    // Everything but what makes the store grow.
    #expect(Set(mixed.flows.flatMap(\.actions)) == Set(Action.allCases).subtracting([.bind]))
  }

  @Test("How many phones a scenario needs")
  func phones() throws {
    let mixed = try #require(Scenario.builtIn.last)
    #expect(mixed.phones(callers: 80, lanes: 1) == [.common: 80, .secrets: 7, .exclusive: 10])
    #expect(mixed.phones(callers: 4, lanes: 3) == [.common: 4, .secrets: 3, .exclusive: 3])
    #expect(try Self.read("flows: [{actions: lockout}]").phones(callers: 80, lanes: 2) == [.exclusive: 80])
    #expect(try Self.read("flows: [{actions: bind}]").phones(callers: 80, lanes: 2) == [:])
    let flow = try Self.read("flows: [{actions: [login, gesture, lockout]}]").flows[0]
    #expect(flow.share == .exclusive)
  }

  @Test("A passkey's user handle stands in its options")
  func userHandle() {
    #expect(PhoneCredential.userHandle(inOptions: #"{"user":{"id":"-_8","name":"ada"},"rp":{}}"#) == [0xFB, 0xFF])
    #expect(PhoneCredential.userHandle(inOptions: #"{"user":{"name":"ada"}}"#) == nil)
    #expect(PhoneCredential.userHandle(inOptions: "") == nil)
  }
}
