// The policy that a definition becomes, and everything that can be wrong with a definition.

import Testing
import TouchstonePolicy

extension PolicyDefinition {
  /// The least that is a policy.
  static func smallest(_ purpose: EvaluationPolicy.Purpose, _ factors: [Factor]) -> PolicyDefinition {
    var definition = PolicyDefinition(name: "mine")
    definition.purpose = .value(purpose)
    definition.factors = .value(factors.map { .value($0) })
    return definition
  }

  func with(_ change: (inout PolicyDefinition) -> Void) -> PolicyDefinition {
    var definition = self
    change(&definition)
    return definition
  }

  /// The names of the properties that have no value.
  var unwrittenSettings: [String] {
    Mirror(reflecting: self).children.filter { "\($0.value)" == "absent" }.compactMap(\.label)
  }

  /// Each as "ladder[1].lock is shorter …"; the name's begin with a blank. Empty for a policy.
  var complaints: [String] {
    do throws(PolicyDefects) {
      _ = try policy()
      return []
    } catch {
      return error.defects.map { "\($0.pathText) \($0.reason)" }
    }
  }
}

extension PolicyDefect {
  var pathText: String {
    path.reduce(into: "") { text, step in
      switch step {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .index(let index): text += "[\(index)]"
      }
    }
  }
}

extension Setting where Value == PolicyDefinition.Rung {
  static func lock(_ failures: Int, _ seconds: Int) -> Setting {
    rung { ($0.failures, $0.lock) = (.value(failures), .value(.seconds(seconds))) }
  }

  static func disable(_ failures: Int) -> Setting {
    rung { ($0.failures, $0.disable) = (.value(failures), .value(true)) }
  }

  static func rung(_ change: (inout PolicyDefinition.Rung) -> Void) -> Setting {
    var rung = PolicyDefinition.Rung()
    change(&rung)
    return .value(rung)
  }
}

@Suite("Policy definitions") struct PolicyDefinitionTests {
  @Test("what is not written is as in the built-in policies")
  func defaults() throws {
    let login = try PolicyDefinition.smallest(
      .login, [.biometry, .deviceOwner, .passkey, .gesture, .passcode]
    ).policy()
    let payment = try PolicyDefinition.smallest(.payment, [.biometry, .deviceOwner, .passkey]).policy()
    for var policy in [login, payment] {
      #expect(policy.name == "mine")
      policy.name = policy.purpose.settingName
      #expect(EvaluationPolicy.builtIn.contains(policy))
    }
  }

  @Test("everything that is written holds")
  func everything() throws {
    let definition = PolicyDefinition.smallest(.login, [.biometry, .passcode, .passkey, .primary]).with {
      $0.attempts = .value(2)
      $0.lockoutAfter = .value(4)
      $0.ladder = .value([.lock(3, 60), .disable(6)])
      $0.primaryFreshness = .value(.seconds(90))
      $0.keyProtection = .value(.biometryCurrentSet)
      $0.keys = .value(.p256)
      $0.minimumAttestation = .value(.tee)
      $0.appAssertion = .value(.required)
      $0.passkeys = .value(.deviceBound)
      $0.domainState = .value(.required)
      $0.minimumOS = .value(OSVersion(11, 2))
      $0.evaluationLifetime = .value(.seconds(30))
      $0.token = .value(.issued(lifetime: .value(.seconds(45)), isSingleUse: .value(true)))
      $0.fallback = .value(.automatic)
      $0.cancelTitle = .value("Not now")
    }
    // Its title would contradict the automatic fallback.
    #expect(definition.unwrittenSettings == ["fallbackTitle"])
    let policy = try definition.policy()
    var expected = EvaluationPolicy(
      name: "mine", purpose: .login, factors: [.biometry, .passcode, .passkey, .primary], tokenLifetime: .seconds(45))
    expected.attemptsPerEvaluation = 2
    expected.failuresBeforeLockout = 4
    expected.ladder = Ladder(rungs: [
      Ladder.Rung(failures: 3, effect: .lock(.seconds(60))), Ladder.Rung(failures: 6, effect: .disable),
    ])
    expected.primaryFreshness = .seconds(90)
    expected.requiredKeyProtection = .biometryCurrentSet
    expected.requiresP256Keys = true
    expected.minimumAttestation = .tee
    expected.requiresAppAssertion = true
    expected.requiresDeviceBoundPasskeys = true
    expected.requiresDomainState = true
    expected.minimumOSVersion = OSVersion(11, 2)
    expected.evaluationLifetime = .seconds(30)
    expected.isTokenSingleUse = true
    expected.fallback = .automatic
    expected.presentation = EvaluationPolicy.Titles(cancel: "Not now")
    #expect(policy == expected)
  }

  @Test("a token may be left out, and a fallback button hidden")
  func nothing() throws {
    let policy = try PolicyDefinition.smallest(.login, [.biometry]).with {
      $0.token = .value(.none)
      $0.fallbackTitle = .value("")
    }.policy()
    #expect(policy.tokenLifetime == nil)
    #expect(policy.presentation.fallback == "")
  }

  @Test("each contradiction is one defect, at its setting", arguments: Contradiction.table)
  func contradiction(_ row: Contradiction) {
    let complaints = row.definition.complaints
    #expect(complaints.count == 1, "\(complaints)")
    #expect(complaints.first?.hasPrefix(row.complaint) == true, "\(complaints)")
  }

  @Test("all that is wrong is said, not just the first")
  func all() {
    let definition = PolicyDefinition.smallest(.payment, [.biometry, .passcode, .biometry]).with {
      $0.name = "payment"
      $0.attempts = .value(0)
      $0.ladder = .value([.lock(5, 60), .lock(4, 30)])
      $0.token = .value(.none)
    }
    let paths = Set(definition.complaints.map { $0.prefix { $0 != " " } })
    #expect(
      paths == ["", "factors[1]", "factors[2]", "attempts", "ladder[1].failures", "ladder[1].lock", "token"])
  }

  @Test("what cannot be read is said by the reader: nothing that rests on it is")
  func unreadable() {
    let definition = PolicyDefinition(name: "mine").with {
      $0.purpose = .unreadable
      $0.factors = .value([.unreadable])
      $0.attempts = .value(4)
      $0.lockoutAfter = .unreadable
      $0.ladder = .value([.unreadable, .rung { ($0.failures, $0.lock) = (.unreadable, .unreadable) }])
      $0.primaryFreshness = .value(.seconds(60))
      $0.domainState = .value(.compared)
      $0.keyProtection = .value(.devicePasscode)
      $0.token = .value(.none)
      $0.fallback = .value(.automatic)
    }
    #expect(throws: PolicyDefects.self) { try definition.policy() }
    #expect(definition.complaints.isEmpty)
  }

  @Test("times are written in one unit, and read as they are written")
  func durations() {
    for (text, seconds) in [("1s", 1), ("90s", 90), ("5m", 300), ("1h", 3_600), ("24h", 86_400), ("0s", 0)] {
      #expect(Duration(settingName: text) == .seconds(seconds))
      #expect((.seconds(seconds) as Duration).settingName == text)
    }
    #expect(Duration(settingName: "60s")?.settingName == "1m")
    for text in ["", "s", "5", "5 m", "-5m", "+5m", "5M", "5ms", "1h30m", "1.5h", "\u{665}s", "5m\u{301}"] {
      #expect(Duration(settingName: text) == nil, "\(text)")
    }
    #expect(Duration(settingName: "9223372036854775807h") == nil)
    #expect(Duration(settingName: "99999999999999999999s") == nil)
    #expect(Duration(settingName: "876601h") == nil)
  }
}
