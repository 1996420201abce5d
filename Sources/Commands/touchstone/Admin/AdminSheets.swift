// The tables that several admin commands print.

internal import Glibc
internal import TerminalText
internal import TouchstoneCodec

enum BindingSheet {
  static func table(_ bindings: [V1.Binding], _ session: AdminSession) -> TextTable {
    TextTable(
      ["BINDING", "STATE", "CREDENTIAL", "CREATED", "LAST USED", "NAME"],
      bindings.map { binding in
        [
          shown(binding.bindingID), binding.state.word, binding.credential.word, session.text(binding.createdAt),
          session.text(binding.lastUsedAt), shown(binding.deviceName),
        ]
      })
  }

  /// Everything about one.
  static func rows(_ binding: V1.Binding, _ session: AdminSession) -> [[String]] {
    var rows = [
      ["binding", shown(binding.bindingID)], ["application", shown(binding.applicationID)],
      ["profile", shown(binding.profileID)], ["name", shown(binding.deviceName)], ["device", shown(binding.deviceID)],
      ["state", binding.state.word], ["credential", binding.credential.word],
      ["created", session.text(binding.createdAt)], ["last used", session.text(binding.lastUsedAt)],
      ["sensor", binding.biometryType.word], ["domain state recorded", binding.domainStateRecorded.yesOrNo],
      ["proven", binding.attestationLevel.word],
    ]
    for (index, protection) in binding.protections.enumerated() {
      let algorithm = index < binding.keyAlgorithms.count ? " \(binding.keyAlgorithms[index].word)" : ""
      rows.append(["key \(index + 1)", protection.word + algorithm])
    }
    for attestation in binding.keyAttestations {
      rows += attestation.facts.sorted { $0.key < $1.key }.map { [shown($0.key), shown($0.value)] }
    }
    if let app = binding.appAttest { rows.append(["app attest", "\(shown(app.appID)) \(shown(app.environment))"]) }
    if let passkey = binding.passkey {
      rows.append(["passkey", "algorithm \(passkey.algorithm), may be copied: \(passkey.backupEligible.yesOrNo)"])
    }
    return rows
  }
}

enum DeviceSheet {
  /// The devices of active bindings, each with the posture that its binding reported last.
  static func table(_ profile: V1.GetProfileResponse, _ session: AdminSession) -> TextTable {
    TextTable(
      ["DEVICE", "BIOMETRY", "FAILURES", "SEEN", "MODEL", "SYSTEM", "SENSOR", "PASSCODE", "NAME"],
      profile.devices.map { device in
        let binding = profile.bindings.first { $0.deviceID == device.deviceID && $0.state == .active }
        let seen = binding.flatMap { binding in profile.postures.first { $0.bindingID == binding.bindingID } }
        return [
          shown(device.deviceID), device.biometryLockedOut ? "LOCKED" : "free", "\(device.biometryFailures)",
          session.text(seen?.seenAt),
        ] + cells(seen?.posture) + [binding.map { shown($0.deviceName) } ?? "-"]
      })
  }

  private static func cells(_ posture: V1.DevicePosture?) -> [String] {
    guard let posture else { return ["-", "-", "-", "-"] }
    let model = posture.deviceModel.isEmpty ? "-" : shown(posture.deviceModel)
    return [
      model, shown("\(posture.platform)-\(posture.osVersion)"), sensor(posture),
      posture.passcodeSet ? "set" : "not set",
    ]
  }

  private static func sensor(_ posture: V1.DevicePosture) -> String {
    let state =
      if !posture.biometryAvailable {
        "not available"
      } else if !posture.biometryEnrolled {
        "not enrolled"
      } else {
        posture.biometryLockedOut ? "locked by the device" : "ready"
      }
    return "\(posture.biometryType.word), \(state)"
  }
}

enum SettingsSheet {
  static func table(_ secrets: [V1.SecretStanding], _ session: AdminSession) -> TextTable {
    TextTable(
      ["SECRET", "STATE", "FAILURES", "LOCKED UNTIL"],
      secrets.map { secret in
        [
          secret.kind.word, state(of: secret, at: Int64(time(nil))), "\(secret.failures)",
          session.text(secret.lockedUntil),
        ]
      })
  }

  /// - Parameter now: in seconds since 1970.
  static func state(of secret: V1.SecretStanding, at now: Int64) -> String {
    if secret.disabled { return "DISABLED" }
    return (secret.lockedUntil?.seconds ?? 0) > now ? "LOCKED" : "not locked"
  }

  static func table(_ settings: V1.UnlockSettings, _ session: AdminSession) -> TextTable {
    let rows: [(name: String, isOn: Bool, isSet: String, factor: V1.Factor)] = [
      ("biometry", settings.biometryEnabled, "-", .biometry),
      ("gesture", settings.gestureEnabled, settings.gestureSet.yesOrNo, .gesture),
      ("passcode", settings.passcodeEnabled, settings.passcodeSet.yesOrNo, .passcode),
    ]
    return TextTable(
      ["SWITCH", "STATE", "SET", "PREFERRED"],
      rows.map { [$0.name, $0.isOn.onOrOff, $0.isSet, $0.factor == settings.preferred ? "yes" : "-"] })
  }
}
