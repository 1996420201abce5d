// Messages for the person, in the language that the caller requests (R20).

internal import TouchstoneCodec
internal import TouchstonePolicy

extension V1.LocalizedText {
  init(_ message: Message) {
    self.init(locale: message.language.tag, text: message.text)
  }
}

extension V1.Denial {
  /// - Parameter biometry: the device's sensor, which the message names.
  init(_ denial: Denial, biometry: BiometryType, in language: Language) {
    self.init(
      laError: V1.LAError(denial.code), reason: denial.reason.rawValue,
      message: V1.LocalizedText(Message(denial, biometry: biometry, in: language)),
      retryAfter: denial.retryAfter.map(V1.Duration.init), detail: denial.reason.developerText)
  }
}

extension Denial.Reason {
  /// Empty if the reason says enough. It follows from the reason alone, so it reveals no more than the reason.
  fileprivate var developerText: String {
    switch self {
    case .platformNotServed:
      "this platform has no domain state, and nothing that this version serves takes its place here; a passkey can pay"
    case .platformDiffers: "posture.platform is of another family than the binding's; bind the device anew"
    case .levelTooLow:
      "less is proven of the binding's keys than the policy asks for (minimum_attestation), or than a payment needs on a "
        + "platform without domain state (tee); bind the device anew, with an attestation"
    case .appNotProven:
      "a payment on a platform without domain state needs keys whose attestation was compared with the application's packages; "
        + "configure them (applications.*.packages), and bind the device anew"
    case .keyNotDeviceBound:
      "the policy takes passkeys that cannot be copied to other devices (passkeys: device_bound): register one of a security key"
    default: ""
    }
  }
}
