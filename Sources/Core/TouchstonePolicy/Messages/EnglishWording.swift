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

// MARK: - Diagnosis

extension EnglishWording: DiagnosisWording {
  var no: String { "No login can succeed now." }
  var unknown: String { "It is unknown whether a login can succeed now." }

  func yes(_ factors: String, reportedAt: String?) -> String {
    "A login can succeed now, by \(factors)\(reportedAt.map { ", if the device is as it reported at \($0)" } ?? "")."
  }

  func name(_ factor: Factor) -> String {
    switch factor {
    case .biometry: "biometrics"
    case .deviceOwner: "device passcode"
    case .passcode: "passcode"
    case .gesture: "gesture"
    case .passkey: "passkey"
    case .primary: "the application's own login"
    }
  }

  func sentence(_ subject: String, _ statement: String) -> String {
    let text = subject.isEmpty ? statement : "\(subject): \(statement)"
    return "\(text.prefix(1).uppercased())\(text.dropFirst())."
  }

  func reported(_ statement: String, _ time: String) -> String { "\(statement) (as it reported at \(time))" }
  func until(_ statement: String, _ time: String) -> String { "\(statement), until \(time)" }
  func helps(_ remedies: String) -> String { "What helps: \(remedies)." }

  func list(_ texts: [String]) -> String {
    (texts.dropLast(2) + [texts.suffix(2).joined(separator: " or ")]).joined(separator: ", ")
  }

  func text(_ cause: LoginObstacle.Cause) -> String {
    switch cause {
    case .bindingUnknown: "the application has no such binding"
    case .bindingRevoked: "the binding of this device is revoked"
    case .notSeen: "it depends on the state of the device, which is not known"
    case .osTooOld: "the device's system is too old for this"
    case .passcodeNotSet: "the device has no passcode of its own"
    case .biometryNotAvailable: "the device's sensor is missing, broken or switched off"
    case .biometryNotEnrolled: "no finger or face is enrolled on the device"
    case .biometryLockout: "locked by the service, after wrong attempts or the device's own report of a lock"
    case .biometryLockedByDevice: "locked by the device itself"
    case .domainStateNeverRecorded: "the policy needs a record of the enrolled fingers or faces, and there is none"
    case .domainStateUnknownWhileLocked: "the device was locked, and did not show whether its fingers or faces changed"
    case .domainStateChanged: "the device's fingers or faces are not those that the service has accepted"
    case .domainStateChangedWithOS:
      "since a system update, the device's fingers or faces do not look like those that the service has accepted"
    case .domainStateUnknown: "it is unknown whether the device's fingers or faces changed"
    case .domainStateRequired: "the policy needs the state of the enrolled fingers or faces, and the device gives none"
    case .platformNotServed: "this policy does not serve the device's platform"
    case .platformDiffers: "the device is of another platform than the one that was bound"
    case .noUsableFactor: "there is no key or passkey that this policy accepts"
    case .levelTooLow: "less is proven of the key than this policy asks for"
    case .appNotProven: "it is not proven that the key belongs to the application; its packages must be listed first"
    case .keyNotDeviceBound: "the passkey may be copied to other devices, and this policy accepts none of these"
    case .passcodeLocked: "locked after wrong attempts"
    case .gestureLocked: "locked after wrong attempts"
    case .passcodeDisabled: "disabled after too many wrong attempts"
    case .gestureDisabled: "disabled after too many wrong attempts"
    case .appAssertionRequired:
      "this policy asks for the app's own word (App Attest), and the binding has no key for it"
    case .switchedOff: "switched off for this profile"
    case .notSet: "not set"
    }
  }

  func text(_ remedy: LoginObstacle.Remedy) -> String {
    switch remedy {
    case .logInByDeviceOwner: "one login by device passcode on this device"
    case .logInByPasscode: "one login by passcode on this device"
    case .logInByGesture: "one login by gesture on this device"
    case .logInByPrimary: "one login by the application's own login on this device"
    case .acceptDomainState: "the application's own login, after which it accepts the present fingers or faces"
    case .unlockOnDevice: "an unlock of the device with its own passcode"
    case .wait: "waiting"
    case .unlockDevice: "an unlock of the device by support"
    case .unlockSecret: "an unlock by support"
    case .setSecret: "setting it after a login by other means"
    case .switchOn: "switching it on"
    case .updateSystem: "an update of the device's system"
    case .setDevicePasscode: "a passcode, set in the device's settings"
    case .enrolBiometry: "a finger or face, enrolled in the device's settings"
    case .bindDevice: "setting the device up after the application's own login"
    case .bindPasskey: "adding a passkey that this policy accepts"
    }
  }

  var deviceNames: DeviceNames {
    DeviceNames(
      unnamedDevice: "Unnamed device", passkey: "Passkey", withoutDevice: "On any device", neverUsed: "never used",
      lastUsed: { "last used \($0)" })
  }
}
