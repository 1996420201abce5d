// Clauses for support staff when an attempt failed, and actions that are due.

import Testing
import TouchstoneCodec
import TouchstonePolicy

@testable import TouchstoneConsole

@Suite("Why an attempt failed, and what can be done")
struct DiagnosisTests {
  @Test("Every reason of a failed attempt has a clause in each language", arguments: Denial.Reason.allCases)
  func reasons(reason: Denial.Reason) throws {
    for language in Language.allCases { #expect(Reader(in: language).attempt(reason.rawValue)?.isEmpty == false) }
    let english = try #require(Reader(in: .english).attempt(reason.rawValue))
    #expect(english.utf8.allSatisfy { $0 < 0x80 })
  }

  @Test("The latest attempt's failure is shown, and not one that a success followed")
  func lastFailure() throws {
    let failed = V1.Event(sequence: 2, kind: "evaluation.failed", details: ["reason": "SIGNATURE_INVALID"])
    let succeeded = V1.Event(sequence: 3, kind: "evaluation.succeeded")
    let other = V1.Event(sequence: 4, kind: "device.unlocked")
    let reader = Reader(in: .english)
    let text = try #require(reader.lastFailure(in: [other, failed]))
    #expect(text.hasPrefix("The last attempt failed: the signature was wrong"))
    #expect(reader.lastFailure(in: [succeeded, failed]) == nil)
    #expect(reader.lastFailure(in: []) == nil)
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
      for (language, part) in Language.allCases.flatMap({ language in ConsoleAction.Part.allCases.map { (language, $0) }
      }) {
        let text = Reader(in: language)(action, part)
        #expect(text != action.rawValue && !text.contains("{"), "\(language) \(action).\(part)")
      }
    }
    #expect(Reader(in: .english)(.switchOn(.passcode), .title) == "Switch on the passcode")
    #expect(Reader(in: .english)(.switchOff(.gesture), .consequence).hasPrefix("The gesture is erased for good."))
    #expect(ConsoleAction(rawValue: "switch-on-passkey") == nil)
  }
}

extension Reader {
  fileprivate init(in language: Language) { self.init(language: language, path: ConsolePath.home) }
}
