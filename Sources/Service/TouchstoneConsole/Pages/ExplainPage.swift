// A form that asks what a login would be answered, and the answer with its rules. Pure.

internal import TouchstoneCodec
internal import TouchstoneService

/// The form's content, as it was typed.
struct ExplainInput: Sendable {
  var applicationID = ""
  var policy = ""
  var bindingID = ""
  var profileID = ""
  /// Empty: the posture last seen.
  var platform = ""
  var osVersion = ""
  var biometryType = "none"
  var isSensorWorking = false
  var isEnrolled = false
  var isSensorLocked = false
  var hasDevicePasscode = false

  static let platforms = ["", "ios", "ipados", "macos", "visionos", "android", "web"]
  static let sensors: [(name: String, type: V1.BiometryType)] = [
    ("none", .none), ("touch-id", .touchID), ("face-id", .faceID), ("optic-id", .opticID), ("voice", .voice),
  ]

  /// Nothing was asked yet.
  var isEmpty: Bool { applicationID.isEmpty || bindingID.isEmpty && profileID.isEmpty }

  var request: V1.ExplainEvaluationRequest {
    V1.ExplainEvaluationRequest(
      begin: V1.BeginEvaluationRequest(
        applicationID: applicationID, policy: policy, bindingID: bindingID, posture: posture,
        profileID: bindingID.isEmpty ? profileID : ""))
  }

  private var posture: V1.DevicePosture? {
    guard !platform.isEmpty else { return nil }
    return V1.DevicePosture(
      platform: platform, osVersion: osVersion,
      biometryType: Self.sensors.first { $0.name == biometryType }?.type ?? .none,
      biometryAvailable: isSensorWorking, biometryEnrolled: isEnrolled, biometryLockedOut: isSensorLocked,
      passcodeSet: hasDevicePasscode)
  }
}

struct ExplainView: Sendable {
  var input: ExplainInput
  var policies: [String]
  var known: [String]
  var answer: V1.ExplainEvaluationResponse?
  var error: String?
}

extension Page {
  static func explain(_ reader: Reader, _ view: ExplainView) -> Page {
    let error: HTML? = view.error.map { Form.notice($0, isError: true) }
    let outcome = view.answer.map { result(reader, view, $0) }
    return Page(
      reader(.explainTitle),
      """
      \(error)\(outcome)<p>\(reader(.explainHint))</p>
      <form method="get" action="\(reader.link(ConsolePath.explain))" class="narrow">
      \(Form.application(reader, chosen: view.input.applicationID, known: view.known))
      \(Form.select("policy", reader(.policy), view.policies.map { ($0, $0) }, chosen: view.input.policy))
      \(Form.text("binding", reader(.bindingID), value: view.input.bindingID, attributes: " maxlength=\"128\""))
      \(Form.text(
        Form.Field.profile, reader(.orProfile), value: view.input.profileID, attributes: " maxlength=\"128\""))
      \(posture(reader, view.input))
      <button>\(reader(.explainNow))</button>
      </form>
      """)
  }

  private static func posture(_ reader: Reader, _ input: ExplainInput) -> HTML {
    let platforms: [(value: String, text: String)] = ExplainInput.platforms.map {
      ($0, $0.isEmpty ? reader(.lastSeen) : $0)
    }
    let sensors: [(value: String, text: String)] = ExplainInput.sensors.map { ($0.name, reader($0.type.phrase)) }
    return """
      <fieldset><legend>\(reader(.otherPosture))</legend>
      \(Form.select("platform", reader(.platform), platforms, chosen: input.platform))
      \(Form.text("os", reader(.osVersion), value: input.osVersion, attributes: " inputmode=\"decimal\" maxlength=\"32\""))
      \(Form.select("sensor", reader(.sensor), sensors, chosen: input.biometryType))
      \(Form.check("working", reader(.sensorWorks), isChecked: input.isSensorWorking))
      \(Form.check("enrolled", reader(.fingerEnrolled), isChecked: input.isEnrolled))
      \(Form.check("locked", reader(.sensorLocked), isChecked: input.isSensorLocked))
      \(Form.check("passcode", reader(.devicePasscodeSet), isChecked: input.hasDevicePasscode))
      </fieldset>
      """
  }

  private static func result(_ reader: Reader, _ view: ExplainView, _ answer: V1.ExplainEvaluationResponse) -> HTML {
    var rows: [(String, HTML)] = []
    let factors = answer.diagnosis?.factors ?? answer.answer?.factors ?? []
    if !factors.isEmpty {
      rows.append((reader(.factors), "\(factors.map { reader($0.phrase) }.joined(separator: ", "))"))
    }
    if let message = answer.answer?.denial?.message?.text { rows.append((reader(.personSees), "<q>\(message)</q>")) }
    if let denial = answer.answer?.denial { rows.append((reader(.reason), HTML.code(denial.reason))) }
    if let seen = answer.posture?.seenAt { rows.append((reader(.postureUsed), reader.time(seen.seconds))) }
    if answer.attestationLevel != .unspecified {
      rows.append((reader(.attestation), "\(reader(answer.attestationLevel.phrase))"))
    }
    let sentence = answer.diagnosis.map {
      verdict(reader, $0.answer, $0.text(in: reader.language, time: reader.minuteText))
    }
    let rules = answer.trace.map { rule -> HTML in
      let kind: HTML = rule.passed ? "good" : "bad"
      return """
        <tr><td data-label="\(reader(.rule))">\(rule.rule)</td>\
        <td data-label="\(reader(.result))"><span class="\(kind)">\(reader(rule.passed ? .passed : .notPassed))</span></td>\
        <td data-label="\(reader(.details))" lang="en" class="long">\(HTML.name(rule.detail))</td></tr>

        """
    }
    return """
      <section aria-labelledby="result" class="verdicts">
      <h2 id="result">\(reader(.result))</h2>
      \(sentence)\(Form.list(rows))
      <details open><summary>\(reader(.rules))</summary>
      <table>
      <thead><tr><th scope="col">\(reader(.rule))</th><th scope="col">\(reader(.result))</th>\
      <th scope="col">\(reader(.details))</th></tr></thead>
      <tbody>
      \(rules)</tbody>
      </table>
      </details>
      </section>

      """
  }
}
