struct EnglishWording: Wording {
  let defaultFallbackTitle = "Enter Password"
  let sentenceSeparator = " "
  let tryAgain = "Please try again."
  let startAgain = "Please start again."
  let signInAgain = "Please sign in again."

  func sentence(_ occasion: Occasion, _ biometry: BiometryType) -> String {
    let name = SensorName(biometry)
    switch occasion {
    case .updateNeeded: return "This device needs a software update before it can use \(name) here."
    case .devicePasscodeMissing: return "To use \(name), first turn on a passcode in this device's settings."
    case .biometryNotAvailable: return "\(name.atStart) \(name.isOrAre)n't available on this device right now."
    case .biometryNotEnrolled:
      return "\(name.atStart) \(name.isOrAre)n't set up yet. You can do that in this device's settings."
    case .biometryPaused: return "\(name.atStart) \(name.isOrAre) turned off here after several tries."
    case .deviceNotSuited: return "This device can't be used for this yet. A software update may help."
    case .kindOfDeviceNotServed: return "This can't be done on this kind of device yet."
    case .kindOfDeviceDiffers: return "This device doesn't match the one that was set up. Please set it up again."
    case .deviceNoLongerSetUp: return "This device is no longer set up for your account. Please set it up again."
    case .noWayYet: return "This device isn't ready to confirm that it's you."
    case .deviceNotProven: return "To be used for this, this device needs to be set up again."
    case .passkeyNotSuited:
      return "For this, you need a passkey that stays on one device, such as a security key."
    case .wayNotOffered: return "This way isn't available right now."

    case .passcodePaused: return "To keep your account safe, your passcode is paused for now."
    case .gesturePaused: return "To keep your account safe, your gesture is paused for now."
    case .passcodeDisabled:
      return "To keep your account safe, your passcode is turned off. After you sign in again, you can set a new one."
    case .gestureDisabled:
      return "To keep your account safe, your gesture is turned off. After you sign in again, you can set a new one."

    case .biometryNotRecognized: return notRecognized(biometry)
    case .deviceOwnerNotConfirmed: return "Your device couldn't confirm that it's you."
    case .passcodeDidNotMatch: return "That passcode didn't match."
    case .gestureDidNotMatch: return "That gesture didn't match."
    case .passkeyDidNotMatch: return "That passkey didn't match."
    case .biometryGaveUp: return "\(name.atStart) couldn't confirm that it's you this time."
    case .deviceOwnerGaveUp: return "Your device couldn't confirm that it's you this time."
    case .biometryChanged:
      return "\(name.atStart) \(name.hasOrHave) changed on this device since it was set up here."
    case .biometryChangedWithUpdate: return "This device was updated, so \(name) can't be used just yet."
    case .canceled: return "Canceled. You can try again whenever you like."
    case .interrupted: return "Something else came up on this device. You can try again whenever you like."
    case .canceledByApp: return "The app stopped this. You can try again whenever you like."
    case .otherWayChosen: return ""
    case .otherWayNeeded: return "Another way is needed this time."
    case .requestEnded: return "This request has ended."

    case .companionOutOfReach: return "Your paired device is out of reach. Bring it closer to use it."
    case .accessoryNotPaired:
      return "The accessory for \(name) isn't paired yet. You can do that in this device's settings."
    case .accessoryNotConnected: return "The accessory for \(name) isn't connected. Connect it to use it."
    case .didNotFit: return "The request didn't fit on the screen."
    case .cannotBeShownNow: return "The request can't be shown right now. Open the app to try again."
    case .unexpected: return "Something unexpected happened on this device."

    case .signInTooOld: return "It has been a while since you signed in. Please sign in again."
    case .deviceOfAnotherAccount: return "This device is set up for another account. You can move it to this one."
    case .tooManyDevices: return "Your account has as many devices as it can have. Please remove one first."
    case .passcodeTooSimple:
      return "Please choose a passcode of 4 to 64 characters, with at least two different ones."
    case .gestureTooSimple: return "Please draw a gesture through 4 to 9 dots, each of them once."
    case .entriesDiffer: return "The two entries didn't match."
    case .deviceNotSetUp: return "This device couldn't be set up just yet."
    case .otherWayMustComeFirst:
      return "\(name.atStart) \(name.hasOrHave) changed on this device. Please sign in another way first."
    case .busy: return "The service is busy at the moment."
    }
  }

  private func notRecognized(_ biometry: BiometryType) -> String {
    switch biometry {
    case .touchID: "Touch ID didn't recognize your finger."
    case .faceID: "Face ID didn't recognize your face."
    case .opticID: "Optic ID didn't recognize your eyes."
    case .voice: "Voice recognition didn't recognize your voice."
    case .unspecified, .none: "Biometrics couldn't confirm that it's you."
    }
  }

  func oneTryLeft(_ lastTry: LastTry, _ biometry: BiometryType) -> String {
    let name = SensorName(biometry)
    return switch lastTry {
    case .biometryIsTurnedOff: "There is one more try before \(name) \(name.isOrAre) turned off here."
    case .secretIsPaused: "There is one more try before a pause."
    case .secretIsTurnedOff: "There is one more try before it is turned off."
    }
  }

  func use(_ factors: [Factor], _ biometry: BiometryType) -> String {
    "Please \(phrases(factors, biometry)) to continue."
  }

  func tryAgain(in wait: Wait, orUse factors: [Factor], _ biometry: BiometryType) -> String {
    let pause = "Try again in \(Self.text(wait))"
    return factors.isEmpty ? "\(pause)." : "\(pause), or \(phrases(factors, biometry))."
  }

  private func phrases(_ factors: [Factor], _ biometry: BiometryType) -> String {
    factors.map { phrase($0, biometry) }.joined(separator: " or ")
  }

  private func phrase(_ factor: Factor, _ biometry: BiometryType) -> String {
    switch factor {
    case .biometry: "use \(SensorName(biometry))"
    case .deviceOwner: "use your device passcode"
    case .passcode: "enter your passcode"
    case .gesture: "draw your gesture"
    case .passkey: "use your passkey"
    case .primary: "sign in again"
    }
  }

  private static func text(_ wait: Wait) -> String {
    let unit =
      switch wait.unit {
      case .second: "second"
      case .minute: "minute"
      case .hour: "hour"
      case .day: "day"
      }
    return "\(wait.count) \(unit)\(wait.count == 1 ? "" : "s")"
  }
}

/// The sensor, as Apple names it in English.
private struct SensorName: CustomStringConvertible {
  let description: String
  let isPlural: Bool

  init(_ biometry: BiometryType) {
    switch biometry {
    case .touchID: (description, isPlural) = ("Touch ID", false)
    case .faceID: (description, isPlural) = ("Face ID", false)
    case .opticID: (description, isPlural) = ("Optic ID", false)
    case .voice: (description, isPlural) = ("voice recognition", false)
    case .unspecified, .none: (description, isPlural) = ("biometrics", true)
    }
  }

  var atStart: String { description.prefix(1).uppercased() + description.dropFirst() }
  var isOrAre: String { isPlural ? "are" : "is" }
  var hasOrHave: String { isPlural ? "have" : "has" }
}
