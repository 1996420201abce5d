/// A text for the person (R20), for every refusal and every error, by the device's sensor and in the person's language:
/// plain and kind, without blame, error numbers or jargon.
public struct Message: Sendable, Hashable {
  public var language: Language
  public var text: String

  /// Why an action is not possible now, and what to do instead.
  ///
  /// - Parameter biometry: the device's sensor, which the text names as its maker does.
  public init(_ denial: Denial, biometry: BiometryType, in language: Language) {
    self.init(
      Occasion(denial.reason), biometry: biometry, context: MessageContext(retryAfter: denial.retryAfter), in: language)
  }

  /// The outcome of an attempt; `nil` if it succeeded.
  ///
  /// - Parameter factor: the factor of the attempt; `nil`: a device's report.
  public init?(_ decision: AttemptDecision, by factor: Factor?, biometry: BiometryType, in language: Language) {
    guard let occasion = Occasion(decision, by: factor) else { return nil }
    let context = MessageContext(
      retryAfter: decision.retryAfter,
      nextFactors: decision.nextFactors.filter { !occasion.rulesOut($0, tried: factor) },
      lastTry: decision.lastTry(by: factor))
    self.init(occasion, biometry: biometry, context: context, in: language)
  }

  /// Why a call was refused, if that concerns the person.
  public init(_ refusal: CallRefusal, in language: Language) {
    self.init(refusal.occasion, biometry: .unspecified, context: MessageContext(), in: language)
  }

  private init(_ occasion: Occasion, biometry: BiometryType, context: MessageContext, in language: Language) {
    self.language = language
    text = language.wording.message(occasion, biometry: biometry, context: context)
  }
}

extension AttemptDecision {
  /// What the next wrong attempt does to this factor. Not every last attempt does: the budget of an evaluation ends it,
  /// and a failure by device owner counts for biometrics.
  fileprivate func lastTry(by factor: Factor?) -> LastTry? {
    guard outcome == .tryAgain, attemptsLeft == 1 else { return nil }
    switch factor {
    case .passcode, .gesture: return nextFailureDisables ? .secretIsTurnedOff : .secretIsPaused
    case .biometry: return device == nil ? nil : .biometryIsTurnedOff
    case .deviceOwner, .passkey, .primary, nil: return nil
    }
  }
}

extension Language {
  /// The fallback button's title, if neither the request nor the policy gives one (R18).
  public var defaultFallbackTitle: String { wording.defaultFallbackTitle }
}

/// Refused calls that have a text for the person.
public enum CallRefusal: Sendable, Hashable, CaseIterable {
  /// The login that the caller vouches for is too long ago.
  case primaryAuthenticationTooOld
  /// The evaluation or ticket has expired or was used.
  case requestEnded
  case deviceBoundToAnotherProfile
  case tooManyBindings
  case passcodeTooSimple
  case gestureTooSimple
  /// A passcode or a gesture that was given twice and differs.
  case confirmationDiffers
  /// A value that the phone made up was not good enough; the next one will be.
  case deviceNotSetUp
  /// A change of the enrolled biometrics needs a login by another factor.
  case otherFactorRequiredFirst
  /// The service is overloaded or out of reach.
  case busy

  var occasion: Occasion {
    switch self {
    case .primaryAuthenticationTooOld: .signInTooOld
    case .requestEnded: .requestEnded
    case .deviceBoundToAnotherProfile: .deviceOfAnotherAccount
    case .tooManyBindings: .tooManyDevices
    case .passcodeTooSimple: .passcodeTooSimple
    case .gestureTooSimple: .gestureTooSimple
    case .confirmationDiffers: .entriesDiffer
    case .deviceNotSetUp: .deviceNotSetUp
    case .otherFactorRequiredFirst: .otherWayMustComeFirst
    case .busy: .busy
    }
  }
}
