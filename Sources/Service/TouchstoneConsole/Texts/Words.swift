// The API's own words as phrases: factors, sensors, protections, roles, actions, kinds of events, reasons.

internal import TouchstoneCodec
internal import TouchstonePolicy

extension V1.Factor {
  var phrase: Phrase {
    switch self {
    case .biometry: .byBiometrics
    case .deviceOwner: .byDeviceOwner
    case .passcode: .byPasscode
    case .gesture: .byGesture
    case .passkey: .byPasskey
    case .primary: .byOwnLogin
    default: .byOtherWay
    }
  }
}

extension V1.BiometryType {
  var phrase: Phrase {
    switch self {
    case .touchID: .touchID
    case .faceID: .faceID
    case .opticID: .opticID
    case .voice: .voice
    case .none: .noSensor
    default: .sensorNotTold
    }
  }
}

extension V1.AttestationLevel {
  var phrase: Phrase {
    switch self {
    case .selfAttested: .selfAttested
    case .app: .attestedByApp
    case .tee: .attestedByHardware
    case .strongbox: .attestedByChip
    default: .notAttested
    }
  }
}

extension V1.KeyProtection {
  var phrase: Phrase {
    switch self {
    case .biometryCurrentSet: .presentBiometrics
    case .biometryAny: .anyBiometrics
    case .userPresence: .byDeviceOwner
    case .devicePasscode: .byDevicePasscode
    default: .otherKey
    }
  }
}

extension V1.CredentialKind {
  var phrase: Phrase {
    switch self {
    case .hardwareKey: .hardwareKey
    case .profileTouchID: .profileTouchID
    case .passkey: .passkey
    default: .otherKey
    }
  }
}

extension OperatorRole {
  var phrase: Phrase {
    switch self {
    case .read: .roleRead
    case .support: .roleSupport
    case .admin: .roleAdmin
    }
  }
}

extension UnlockSwitch {
  var phrase: Phrase {
    switch self {
    case .biometry: .biometry
    case .passcode: .passcode
    case .gesture: .gesture
    }
  }
}

// MARK: - Actions

extension ConsoleAction {
  /// The texts of an action, each with a name of its own in the languages' files: "erase.title".
  enum Part: String, CaseIterable {
    case title
    /// Before it is done.
    case consequence
    case button, done
    /// Another operator, or the person, was first.
    case meanwhile
  }

  /// The way that the action is about.
  fileprivate var way: UnlockSwitch? {
    switch self {
    case .switchOn(let way), .switchOff(let way), .prefer(let way): way
    case .unlockDevice, .unlockPasscode, .unlockGesture, .preferNone, .revoke, .erase: nil
    }
  }

  /// The same for all ways: "switch-off".
  var sharedName: String {
    way.map { String(rawValue.dropLast($0.rawValue.count + 1)) } ?? rawValue
  }
}

extension Reader {
  /// Returns the text for this action alone ("switch-off-gesture.consequence"), or else the one for all ways.
  func callAsFunction(_ action: ConsoleAction, _ part: ConsoleAction.Part) -> String {
    let text = text(named: "\(action.rawValue).\(part)") ?? text(named: "\(action.sharedName).\(part)")
    let way = action.way.map { self.text(named: "way.\($0)") ?? $0.rawValue }
    return Texts.filled(text ?? action.rawValue, way.map { [$0] } ?? [])
  }
}

// MARK: - Events and reasons

extension Reader {
  /// The meaning of a kind of event. `nil`: it is shown as it is.
  func eventKind(_ kind: String) -> String? { text(named: "event.\(kind)") }

  /// - Parameter reason: of a denial, as types.proto lists them.
  func denial(_ reason: String) -> String? { LoginObstacle.Cause(rawValue: reason)?.text(in: language) }

  /// Why an attempt failed, in a clause for support staff.
  ///
  /// - Parameter reason: of the attempt's event.
  func attempt(_ reason: String) -> String? { text(named: "attempt.\(reason)") ?? denial(reason) }

  /// Returns why the latest attempt among the events failed; `nil` if it did not.
  ///
  /// - Parameter events: of the profile, the newest first.
  func lastFailure(in events: [V1.Event]) -> String? {
    let ended = ["evaluation.succeeded", "evaluation.failed", "evaluation.locked_out", "evaluation.factor_required"]
    guard let last = events.first(where: { ended.contains($0.kind) }), last.kind != "evaluation.succeeded",
      let reason = last.details["reason"]
    else {
      return nil
    }
    return self(.lastAttempt, attempt(reason) ?? reason)
  }
}
