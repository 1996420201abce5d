/// One statement that a text for a person can make (R20), independent of the language. The device's sensor is known
/// separately.
enum Occasion: Sendable, Hashable, CaseIterable {
  // Why the device cannot prompt.
  case updateNeeded
  case devicePasscodeMissing
  case biometryNotAvailable
  case biometryNotEnrolled
  case biometryPaused
  case deviceNotSuited
  case kindOfDeviceNotServed
  case kindOfDeviceDiffers
  case deviceNoLongerSetUp
  case noWayYet
  case deviceNotProven
  case passkeyNotSuited
  case wayNotOffered

  // About a secret that the service verifies.
  case passcodePaused
  case gesturePaused
  case passcodeDisabled
  case gestureDisabled

  // Outcomes of an attempt.
  case biometryNotRecognized
  case deviceOwnerNotConfirmed
  case passcodeDidNotMatch
  case gestureDidNotMatch
  case passkeyDidNotMatch
  case biometryGaveUp
  case deviceOwnerGaveUp
  case biometryChanged
  case biometryChangedWithUpdate
  case canceled
  case interrupted
  case canceledByApp
  case otherWayChosen
  case otherWayNeeded
  case requestEnded

  // Outcomes that only a device reports.
  case companionOutOfReach
  case accessoryNotPaired
  case accessoryNotConnected
  case didNotFit
  case cannotBeShownNow
  case unexpected

  // Why a call was refused.
  case signInTooOld
  case deviceOfAnotherAccount
  case tooManyDevices
  case passcodeTooSimple
  case gestureTooSimple
  case entriesDiffer
  case deviceNotSetUp
  case otherWayMustComeFirst
  case busy
}

/// The suggestion in the message's last sentence.
enum FollowUp: Sendable, Hashable {
  /// Nothing: the statement is enough.
  case nothing
  /// The other ways that are left; if there are none, the statement alone.
  case otherWays
  /// The other ways that are left; if there are none, to start again.
  case otherWaysOrStartAgain
  /// The other ways that are left; if there are none, the application's own login.
  case otherWaysOrSignIn
  case tryAgain
  case startAgain
}

extension Occasion {
  /// Whether the message means that the factor is of no use now. It is then not suggested.
  ///
  /// - Parameter tried: the factor of the attempt; `nil`: a report, which concerns biometrics.
  func rulesOut(_ factor: Factor, tried: Factor?) -> Bool {
    switch self {
    case .devicePasscodeMissing:
      factor == .biometry || factor == .deviceOwner
    case .updateNeeded, .biometryNotAvailable, .biometryNotEnrolled, .biometryPaused, .biometryGaveUp, .biometryChanged,
      .biometryChangedWithUpdate, .accessoryNotPaired, .accessoryNotConnected, .otherWayMustComeFirst:
      factor == .biometry
    case .deviceOwnerGaveUp:
      factor == .deviceOwner
    case .passcodePaused, .passcodeDisabled:
      factor == .passcode
    case .gesturePaused, .gestureDisabled:
      factor == .gesture
    case .otherWayNeeded, .otherWayChosen, .wayNotOffered:
      factor == tried ?? .biometry
    case .deviceNotSuited, .kindOfDeviceNotServed, .kindOfDeviceDiffers, .deviceNoLongerSetUp, .noWayYet,
      .deviceNotProven,
      .passkeyNotSuited, .biometryNotRecognized,
      .deviceOwnerNotConfirmed, .passcodeDidNotMatch,
      .gestureDidNotMatch, .passkeyDidNotMatch, .canceled, .interrupted, .canceledByApp, .requestEnded,
      .companionOutOfReach, .didNotFit, .cannotBeShownNow, .unexpected, .signInTooOld, .deviceOfAnotherAccount,
      .tooManyDevices, .passcodeTooSimple, .gestureTooSimple, .entriesDiffer, .deviceNotSetUp, .busy:
      false
    }
  }
}

extension Occasion {
  var followUp: FollowUp {
    switch self {
    case .biometryNotRecognized, .deviceOwnerNotConfirmed, .passcodeDidNotMatch, .gestureDidNotMatch,
      .passkeyDidNotMatch, .didNotFit, .entriesDiffer, .deviceNotSetUp, .busy:
      .tryAgain
    case .requestEnded:
      .startAgain
    case .biometryGaveUp, .deviceOwnerGaveUp, .unexpected:
      .otherWaysOrStartAgain
    case .biometryPaused, .biometryChanged, .biometryChangedWithUpdate, .otherWayChosen, .otherWayNeeded:
      .otherWaysOrSignIn
    case .updateNeeded, .biometryNotAvailable, .deviceNotSuited, .kindOfDeviceNotServed, .noWayYet, .deviceNotProven,
      .passkeyNotSuited, .wayNotOffered, .devicePasscodeMissing, .biometryNotEnrolled, .passcodePaused, .gesturePaused,
      .passcodeDisabled,
      .gestureDisabled, .companionOutOfReach, .accessoryNotPaired, .accessoryNotConnected:
      .otherWays
    case .kindOfDeviceDiffers, .deviceNoLongerSetUp, .canceled, .interrupted, .canceledByApp, .cannotBeShownNow,
      .signInTooOld,
      .deviceOfAnotherAccount,
      .tooManyDevices, .passcodeTooSimple, .gestureTooSimple, .otherWayMustComeFirst:
      .nothing
    }
  }
}

// MARK: Which occasion it is

extension Occasion {
  init(_ reason: Denial.Reason) {
    switch reason {
    case .osTooOld: self = .updateNeeded
    case .passcodeNotSet: self = .devicePasscodeMissing
    case .biometryNotAvailable: self = .biometryNotAvailable
    case .biometryNotEnrolled: self = .biometryNotEnrolled
    case .biometryLockout: self = .biometryPaused
    case .domainStateRequired: self = .deviceNotSuited
    case .platformNotServed: self = .kindOfDeviceNotServed
    case .platformDiffers: self = .kindOfDeviceDiffers
    case .bindingUnknown, .bindingRevoked: self = .deviceNoLongerSetUp
    case .noUsableFactor: self = .noWayYet
    case .levelTooLow, .appNotProven: self = .deviceNotProven
    case .keyNotDeviceBound: self = .passkeyNotSuited
    case .passcodeLocked: self = .passcodePaused
    case .gestureLocked: self = .gesturePaused
    case .passcodeDisabled: self = .passcodeDisabled
    case .gestureDisabled: self = .gestureDisabled
    case .factorNotOffered: self = .wayNotOffered
    }
  }

  /// - Parameter factor: the factor of the attempt; `nil`: a report, which concerns biometrics.
  /// - Returns: `nil` if the attempt succeeded: the application then has its own text.
  init?(_ decision: AttemptDecision, by factor: Factor?) {
    if let denial = decision.bindingDenial {
      self.init(denial.reason)
      return
    }
    switch decision.outcome {
    case .succeeded: return nil
    case .tryAgain: self = .notRight(factor)
    case .failed: self.init(failedWith: decision.laError, by: factor)
    case .canceled: self.init(canceledWith: decision.laError)
    case .fallback: self = .otherWayChosen
    case .lockedOut: self = .locked(factor, isDisabled: decision.retryAfter == nil)
    case .factorRequired: self.init(otherFactorRequiredBy: decision, insteadOf: factor)
    case .invalidContext: self = .requestEnded
    }
  }

  private static func notRight(_ factor: Factor?) -> Occasion {
    switch factor {
    case .biometry, nil: .biometryNotRecognized
    case .deviceOwner: .deviceOwnerNotConfirmed
    case .passcode: .passcodeDidNotMatch
    case .gesture: .gestureDidNotMatch
    case .passkey: .passkeyDidNotMatch
    case .primary: .signInTooOld
    }
  }

  private static func gaveUp(_ factor: Factor?) -> Occasion {
    switch factor {
    case .biometry, nil: .biometryGaveUp
    case .deviceOwner: .deviceOwnerGaveUp
    case .passcode, .gesture, .passkey, .primary: .otherWayNeeded
    }
  }

  private static func locked(_ factor: Factor?, isDisabled: Bool) -> Occasion {
    switch factor {
    case .passcode: isDisabled ? .passcodeDisabled : .passcodePaused
    case .gesture: isDisabled ? .gestureDisabled : .gesturePaused
    case .biometry, .deviceOwner, .passkey, .primary, nil: .biometryPaused
    }
  }

  private init(failedWith code: LAErrorCode?, by factor: Factor?) {
    switch code {
    case .authenticationFailed: self = .gaveUp(factor)
    case .passcodeNotSet: self = .devicePasscodeMissing
    case .biometryNotAvailable: self = .biometryNotAvailable
    case .biometryNotEnrolled: self = .biometryNotEnrolled
    case .biometryLockout: self = .biometryPaused
    case .companionNotAvailable: self = .companionOutOfReach
    case .biometryNotPaired: self = .accessoryNotPaired
    case .biometryDisconnected: self = .accessoryNotConnected
    case .invalidDimensions: self = .didNotFit
    case .notInteractive: self = .cannotBeShownNow
    case .userFallback: self = .otherWayChosen
    case .userCancel, .systemCancel, .appCancel: self.init(canceledWith: code)
    case .invalidContext: self = .requestEnded
    case nil: self = .unexpected
    }
  }

  private init(canceledWith code: LAErrorCode?) {
    switch code {
    case .systemCancel: self = .interrupted
    case .appCancel: self = .canceledByApp
    default: self = .canceled
    }
  }

  private init(otherFactorRequiredBy decision: AttemptDecision, insteadOf factor: Factor?) {
    let isOnDevice = factor == nil || factor == .biometry || factor == .deviceOwner
    switch decision.domainState {
    case .changed? where isOnDevice: self = .biometryChanged
    case .changedWithOS? where isOnDevice: self = .biometryChangedWithUpdate
    case .unknownWhileLocked? where isOnDevice: self = .biometryPaused
    default:
      switch decision.laError {
      case .biometryLockout?: self = .biometryPaused
      case .authenticationFailed? where isOnDevice: self = .biometryGaveUp
      default: self = .otherWayNeeded
      }
    }
  }
}
