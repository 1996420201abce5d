// What a person reads (R20): for every refusal and every error, by what their device has, in their language.

/// A text for the person: plain and kind, without blame, numbers of errors or jargon.
public struct Message: Sendable, Hashable {
  public var language: Language
  public var text: String

  /// Why something cannot be done now, and what to do instead.
  ///
  /// - Parameter biometry: what the device has; it is named as its maker does.
  public init(_ denial: Denial, biometry: BiometryType, in language: Language) {
    self.init(
      Occasion(denial.reason), biometry: biometry, context: MessageContext(retryAfter: denial.retryAfter), in: language)
  }

  /// What came of an attempt; `nil` where it succeeded.
  ///
  /// - Parameter factor: the one tried; `nil`: the device's report.
  public init?(_ decision: AttemptDecision, by factor: Factor?, biometry: BiometryType, in language: Language) {
    guard let occasion = Occasion(decision, by: factor) else { return nil }
    let context = MessageContext(
      retryAfter: decision.retryAfter,
      nextFactors: decision.nextFactors.filter { !occasion.rulesOut($0, tried: factor) },
      isLastTry: decision.outcome == .tryAgain && decision.attemptsLeft == 1)
    self.init(occasion, biometry: biometry, context: context, in: language)
  }

  /// Why a call was refused, where that is about the person.
  public init(_ refusal: CallRefusal, in language: Language) {
    self.init(refusal.occasion, biometry: .unspecified, context: MessageContext(), in: language)
  }

  private init(_ occasion: Occasion, biometry: BiometryType, context: MessageContext, in language: Language) {
    self.language = language
    text = language.wording.message(occasion, biometry: biometry, context: context)
  }
}

extension Language {
  /// Of the fallback button, where neither the request nor the policy gives a title (R18).
  public var defaultFallbackTitle: String { wording.defaultFallbackTitle }

  var wording: any Wording {
    switch self {
    case .english: EnglishWording()
    case .simplifiedChinese: SimplifiedChineseWording()
    }
  }
}

/// Refused calls of which the person is told.
public enum CallRefusal: Sendable, Hashable, CaseIterable {
  /// The login that the caller vouches for is too long ago.
  case primaryAuthenticationTooOld
  /// What was begun has expired or was used.
  case requestEnded
  case deviceBoundToAnotherProfile
  case tooManyBindings
  case passcodeTooSimple
  case gestureTooSimple
  /// Of a passcode or a gesture, given twice.
  case confirmationDiffers
  /// Something that the phone made up was not good enough; the next one will be.
  case deviceNotSetUp
  /// A change of the enrolled biometrics is only accepted after a login by something else.
  case otherFactorRequiredFirst
  /// Overloaded, or out of reach.
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
