// `touchstone admin profile explain`: why a login fails now, in a sentence for each of the person's devices.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec

extension AdminProfile {
  struct Explain: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Say why a login fails now, or by which ways it can succeed.",
      discussion: """
        One sentence for each active binding, by the device's last report about itself; for a profile without a binding, by the \
        report of an iPhone that has no faults. The service does not keep the enrolled fingers' state: if a finger was added, \
        only `admin profile events` shows it. With --json: an ExplainEvaluationResponse in each line. Exits with 0 if the service \
        explained, whatever it decides.
        """)

    @OptionGroup var profile: ProfileArguments

    @Option(help: ArgumentHelp("The policy to explain.", valueName: "name"))
    var policy = "login"

    @Option(help: ArgumentHelp("Only this binding.", valueName: "binding"))
    var binding: String?

    @Flag(help: "Print each rule, and the values that it compared.")
    var rules = false

    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let found = try await session.profile(profile)
      let bindings = found.bindings.filter { $0.state == .active && ($0.bindingID == binding || binding == nil) }
      if let binding, bindings.isEmpty {
        throw AdminFailure(
          .noInput, "profile \(shown(profile.profileID)) has no active binding \(shown(binding))")
      }
      if bindings.isEmpty {
        let subject = V1.BeginEvaluationRequest(posture: Self.soundPhone, profileID: profile.profileID)
        return try await explain(subject, "no device is bound", session)
      }
      for binding in bindings {
        let subject = V1.BeginEvaluationRequest(bindingID: binding.bindingID)
        try await explain(subject, "\(shown(binding.deviceName)) (\(shown(binding.bindingID)))", session)
      }
    }

    private func explain(
      _ subject: V1.BeginEvaluationRequest, _ name: String, _ session: AdminSession
    ) async throws(AdminFailure) {
      var begin = subject
      begin.applicationID = profile.applicationID
      begin.policy = policy
      let explained: V1.ExplainEvaluationResponse
      do throws(TouchstoneError) {
        explained = try await Self.explained(begin, session)
      } catch {
        throw session.failure(error)
      }
      if session.isJSON { return try session.printJSON(explained) }
      printLine("\(name): \(ExplainedLogin.sentence(explained, policy: policy))")
      guard rules else { return }
      session.print(
        TextTable(
          ["RULE", "PASSED", "DETAIL"],
          explained.trace.map { [shown($0.rule), $0.passed.yesOrNo, printable($0.detail)] }))
    }

    /// A policy for payments needs a transaction, and the API does not say which policies are for payments.
    private static func explained(
      _ begin: V1.BeginEvaluationRequest, _ session: AdminSession
    ) async throws(TouchstoneError) -> V1.ExplainEvaluationResponse {
      do throws(TouchstoneError) {
        return try await session.client.explainEvaluation(V1.ExplainEvaluationRequest(begin: begin))
      } catch {
        guard error.fieldViolations.map(\.field) == ["begin.transaction"] else { throw error }
        var begin = begin
        begin.transaction = V1.Transaction(amount: "1", currency: "EUR", payee: "explanation", reference: "explanation")
        return try await session.client.explainEvaluation(V1.ExplainEvaluationRequest(begin: begin))
      }
    }

    /// Nothing of the device itself stands in the way.
    private static let soundPhone = V1.DevicePosture(
      platform: "ios", osVersion: "26.0", biometryType: .touchID, biometryAvailable: true, biometryEnrolled: true,
      passcodeSet: true, domainState: [UInt8](repeating: 0, count: 32))
  }
}

enum ExplainedLogin {
  static func sentence(_ explained: V1.ExplainEvaluationResponse, policy: String) -> String {
    let name = shown(policy)
    let answer = explained.answer ?? V1.BeginEvaluationResponse()
    if let denial = answer.denial {
      let reason = causes[denial.reason] ?? (denial.detail.isEmpty ? "the rules refuse it" : printable(denial.detail))
      let wait = denial.retryAfter.map { "; it can be tried again in \($0.seconds) s" } ?? ""
      return "\(name) fails now, because \(reason)\(wait) (\(shown(denial.reason)))."
    }
    let obstacles = obstacles(explained.trace).map { "\($0.factor) (\($0.detail))" }.joined(separator: ", ")
    let others = obstacles.isEmpty ? "" : "; not by \(obstacles)"
    return answer.factors.isEmpty
      ? "\(name) begins, but no way to unlock is left\(others)."
      : "\(name) can succeed now, by \(answer.factors.words)\(others)."
  }

  /// The first rule that each factor fails. A rule's detail begins with its factor.
  private static func obstacles(_ trace: [V1.RuleTrace]) -> [(factor: String, detail: String)] {
    var obstacles: [(factor: String, detail: String)] = []
    for rule in trace where !rule.passed {
      let parts = rule.detail.split(separator: ": ", maxSplits: 1).map { printable(String($0)) }
      guard parts.count == 2, !obstacles.contains(where: { $0.factor == parts[0] }) else { continue }
      obstacles.append((parts[0], parts[1]))
    }
    return obstacles
  }

  /// Follows "because": the cause, and what ends it.
  private static let causes = [
    "OS_TOO_OLD": "the device's system is too old for it; the person updates it",
    "PASSCODE_NOT_SET": "the device has no passcode; the person sets one",
    "BIOMETRY_NOT_AVAILABLE": "the sensor is missing, broken or switched off",
    "BIOMETRY_NOT_ENROLLED": "no finger or face is enrolled on the device",
    "BIOMETRY_LOCKOUT":
      "the device's biometrics are locked after too many failures; the device's passcode, the profile's passcode or "
      + "`admin device unlock` ends that",
    "DOMAIN_STATE_REQUIRED": "the device does not give the state of its enrolled biometrics, which the policy requires",
    "PLATFORM_NOT_SERVED": "the policy does not serve this platform",
    "PLATFORM_DIFFERS": "the device is of another platform than when it was bound; the person binds it anew",
    "PASSCODE_LOCKED": "the profile's passcode is locked after too many failures; `admin secret unlock` ends that",
    "GESTURE_LOCKED": "the profile's gesture is locked after too many failures; `admin secret unlock` ends that",
    "PASSCODE_DISABLED": "the profile's passcode is disabled after too many failures; the person sets it anew",
    "GESTURE_DISABLED": "the profile's gesture is disabled after too many failures; the person sets it anew",
    "FACTOR_NOT_OFFERED": "the ways to unlock that it accepts are off or not set; see `admin profile settings`",
    "NO_USABLE_FACTOR": "there is no credential that the policy accepts; the person binds a device",
    "LEVEL_TOO_LOW":
      "too little is proven of the device's keys; the person binds the device anew, with an attestation",
    "APP_NOT_PROVEN":
      "the application listed no packages when the device was bound; list them, and the person binds the device anew",
    "KEY_NOT_DEVICE_BOUND": "the passkey may be copied to other devices, which the policy does not accept",
  ]
}
