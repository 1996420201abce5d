// The sentences for support staff when a login fails.

import Testing
import TouchstoneCodec
import TouchstonePolicy

@testable import TouchstoneConsole

@Suite("Why a login fails")
struct DiagnosisTests {
  private func diagnosis(_ answer: V1.BeginEvaluationResponse, biometry: Bool = true) -> (Bool, String) {
    let diagnosis = LoginDiagnosis(V1.ExplainEvaluationResponse(answer: answer), policyTakesBiometry: biometry)
    return (diagnosis.isPossible, diagnosis.sentences.map(\.english).joined(separator: " "))
  }

  @Test("Every reason of a denial has a sentence in each language", arguments: Denial.Reason.allCases)
  func reasons(reason: Denial.Reason) throws {
    let phrase = try #require(LoginReasons.denial(reason.rawValue))
    for language in Language.allCases { #expect(!phrase.text(in: language).isEmpty) }
    #expect(phrase.english.utf8.allSatisfy { $0 < 0x80 } || phrase.english.contains("“"))
    #expect(phrase.simplifiedChinese.last == "。")
  }

  @Test("A denial is its sentence, with how long to wait")
  func denials() {
    let locked = V1.Denial(reason: "PASSCODE_LOCKED", retryAfter: V1.Duration(seconds: 90))
    let (isPossible, text) = diagnosis(V1.BeginEvaluationResponse(denial: locked))
    #expect(!isPossible)
    #expect(text.hasPrefix("The passcode is locked"))
    #expect(text.hasSuffix("try again in 90 s."))
  }

  @Test("A reason of a newer service is shown as it is")
  func unknown() {
    let denial = V1.Denial(reason: "NEW_REASON")
    #expect(diagnosis(V1.BeginEvaluationResponse(denial: denial)) == (false, "NEW_REASON"))
  }

  @Test("Changed biometrics leave the other factors")
  func changed() {
    let answer = V1.BeginEvaluationResponse(factors: [.passcode, .gesture], domainState: .changed)
    let (isPossible, text) = diagnosis(answer)
    #expect(isPossible)
    #expect(text.hasPrefix("Not by biometrics: a finger or face was added or removed"))
    #expect(text.hasSuffix("A login is possible by passcode or gesture."))
  }

  @Test(
    "Without biometrics, the first rule that they did not pass says why",
    arguments: [
      ("R1", "the phone's sensor is off"), ("R4", "they are locked after too many failures"),
      ("R17", "they are switched off"), ("R31", "the binding has no key"), ("R7", "they are locked, switched off"),
    ])
  func rules(rule: String, why: String) {
    let trace = [
      V1.RuleTrace(rule: "R17", passed: false, detail: "gesture: is off"),
      V1.RuleTrace(rule: "R2", passed: true, detail: "biometry: needs 8.0"),
      V1.RuleTrace(rule: rule, passed: false, detail: "biometry: no"),
    ]
    let answer = V1.ExplainEvaluationResponse(
      answer: V1.BeginEvaluationResponse(factors: [.passcode], domainState: .unchanged), trace: trace)
    let sentences = LoginDiagnosis(answer, policyTakesBiometry: true).sentences.map(\.english)
    #expect(sentences == ["Not by biometrics: " + sentences[0].dropFirst("Not by biometrics: ".count)])
    #expect(sentences[0].contains(why))
  }

  @Test("A login that can begin names its factors; one without any cannot")
  func possible() {
    let factors: [V1.Factor] = [.biometry, .passkey, .passcode]
    #expect(
      diagnosis(V1.BeginEvaluationResponse(factors: factors))
        == (true, "A login is possible, by biometrics, passkey or passcode."))
    #expect(diagnosis(V1.BeginEvaluationResponse()).0 == false)
  }

  @Test("The latest attempt's failure is shown, and not one that a success followed")
  func lastFailure() throws {
    let failed = V1.Event(sequence: 2, kind: "evaluation.failed", details: ["reason": "SIGNATURE_INVALID"])
    let succeeded = V1.Event(sequence: 3, kind: "evaluation.succeeded")
    let other = V1.Event(sequence: 4, kind: "device.unlocked")
    let phrase = try #require(LoginDiagnosis.lastFailure(in: [other, failed]))
    #expect(phrase.english.hasPrefix("The last attempt failed: the signature was wrong"))
    #expect(LoginDiagnosis.lastFailure(in: [succeeded, failed]) == nil)
    #expect(LoginDiagnosis.lastFailure(in: []) == nil)
  }

  @Test("An action is due only while it changes something")
  func due() {
    let profile = V1.GetProfileResponse(
      bindings: [
        V1.Binding(bindingID: "b", deviceID: "d", state: .active), V1.Binding(bindingID: "r", state: .revoked),
      ],
      devices: [V1.DeviceStanding(deviceID: "d", biometryFailures: 1), V1.DeviceStanding(deviceID: "e")],
      secrets: [V1.SecretStanding(kind: .passcode, failures: 2), V1.SecretStanding(kind: .gesture)])
    #expect(ConsoleAction.unlockDevice.isDue(on: profile, target: "d"))
    #expect(!ConsoleAction.unlockDevice.isDue(on: profile, target: "e"))
    #expect(!ConsoleAction.unlockDevice.isDue(on: profile, target: "f"))
    #expect(ConsoleAction.revoke.isDue(on: profile, target: "b"))
    #expect(!ConsoleAction.revoke.isDue(on: profile, target: "r"))
    #expect(ConsoleAction.unlockPasscode.isDue(on: profile, target: ""))
    #expect(!ConsoleAction.unlockGesture.isDue(on: profile, target: ""))
  }

  @Test("A switch is due while it is the other way, and what is off is not offered first")
  func switches() {
    let settings = V1.UnlockSettings(biometryEnabled: true, passcodeEnabled: true, preferred: .passcode)
    let profile = V1.GetProfileResponse(settings: settings)
    let due = ConsoleAction.allCases.filter { $0.changesSwitches && $0.isDue(on: profile, target: "") }
    #expect(
      Set(due) == [.switchOff(.biometry), .prefer(.biometry), .switchOff(.passcode), .switchOn(.gesture), .preferNone])
    #expect(ConsoleAction.switchOff(.passcode).changed(settings) == V1.UnlockSettings(biometryEnabled: true))
    let gesture = ConsoleAction.switchOn(.gesture).changed(settings)
    #expect(gesture.gestureEnabled && gesture.passcodeEnabled && gesture.preferred == .passcode)
    #expect(ConsoleAction.prefer(.gesture).changed(settings) == settings)
    #expect(ConsoleAction.prefer(.biometry).changed(settings).preferred == .biometry)
  }

  @Test("Each action has a name of its own in links, and words in each language")
  func actions() {
    let actions = ConsoleAction.allCases
    #expect(Set(actions.map(\.rawValue)).count == actions.count)
    for action in actions {
      #expect(ConsoleAction(rawValue: action.rawValue) == action)
      let words = action.words
      for phrase in [words.title, words.consequence, words.button, words.done, words.meanwhile] {
        #expect(Language.allCases.allSatisfy { !phrase.text(in: $0).isEmpty })
      }
    }
    #expect(ConsoleAction(rawValue: "switch-on-passkey") == nil)
  }
}
