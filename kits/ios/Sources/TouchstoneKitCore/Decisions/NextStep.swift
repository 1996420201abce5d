// Decides what the app does next after an answer of the service.

public struct NextStep: Hashable, Sendable {
  /// One of ``done``, ``prompt`` and the others. A later version may add one: keep a `default`.
  public struct Kind: Hashable, Sendable {
    public let name: String

    init(_ name: String) {
      self.name = name
    }

    /// The person is in, or the phone is bound.
    public static let done = Kind("done")
    /// Prompt for ``NextStep/factor``.
    public static let prompt = Kind("prompt")
    /// Offer the same factor again, in this evaluation.
    public static let tryAgain = Kind("try-again")
    /// Begin anew: this evaluation or ticket is over.
    public static let beginAgain = Kind("begin-again")
    /// Offer ``NextStep/factor``, in this evaluation.
    public static let useFactor = Kind("use-factor")
    /// The person canceled. Leave the screen as it is.
    public static let stay = Kind("stay")
    /// Offer it again after ``NextStep/seconds``.
    public static let wait = Kind("wait")
    /// Show the app's own login.
    public static let logIn = Kind("log-in")
    /// Enable Touch ID anew, after the app's own login or ``NextStep/factor``.
    public static let bindAgain = Kind("bind-again")
    public static let openSettings = Kind("open-settings")
    public static let updateSystem = Kind("update-system")
    /// The passcode or gesture must be set anew.
    public static let setSecret = Kind("set-secret")
    /// The phone is another account's: ask whether this one takes its place.
    public static let replaceBinding = Kind("replace-binding")
    public static let revokeBinding = Kind("revoke-a-binding")
    public static let assertAgain = Kind("assert-again")
    /// App or backend are wrong. The person cannot help it.
    public static let fixApp = Kind("fix-app")
    /// The kit refused to sign. Tell your developers: a server lies, or app and server are of different versions.
    public static let stop = Kind("stop")
  }

  public let kind: Kind
  public var factor: Factor?
  public var seconds: Int?
  /// "device-replaced", "no-recovery-factor", "slow-prompt"; "bind-again": the person is in, although a key is dead.
  public var notices: [String] = []
  /// A text for the person, in their language.
  public var message: String?

  public init(_ kind: Kind, _ factor: Factor? = nil, seconds: Int? = nil) {
    (self.kind, self.factor, self.seconds) = (kind, factor, seconds)
  }

  /// After BeginEvaluation.
  /// - Parameter languages: of the call, as `accept-language` has them: "zh-CN, en;q=0.5".
  public init(begun: Evaluation, in languages: String) {
    if let denial = begun.denial {
      self.init(denial: denial, in: languages)
    } else if let factor = begun.factors?.firstUsable {
      self.init(.prompt, factor)
    } else {
      self.init((begun.factors ?? []).isEmpty && begun.domainState.isChanged ? .bindAgain : .logIn)
    }
    notices = Self.notices(begun.advisories)
  }

  /// After SubmitAttempt.
  /// - Parameters:
  ///   - factor: of the attempt.
  ///   - isKeyGone: a key of the binding is dead.
  public init(answer: Answer, to factor: Factor, isKeyGone: Bool, in languages: String) {
    let next = answer.nextFactors ?? []
    let left = next.firstUsable
    let error = answer.laError?.name ?? ""
    switch answer.outcome?.name {
    case "OUTCOME_SUCCEEDED": self.init(.done)
    case "OUTCOME_TRY_AGAIN": self.init(.tryAgain, factor)
    case "OUTCOME_CANCELED": self.init(.stay)
    case "OUTCOME_INVALID_CONTEXT": self.init(.beginAgain)
    case "OUTCOME_FALLBACK": self.init(left == nil ? .logIn : .useFactor, left)
    case "OUTCOME_FAILED":
      if let denial = answer.denial {
        self.init(denial: denial, in: languages)
      } else if ["LA_ERROR_PASSCODE_NOT_SET", "LA_ERROR_BIOMETRY_NOT_ENROLLED"].contains(error) {
        self.init(.openSettings, left)
      } else if let left {
        self.init(.useFactor, left)
      } else if error == "LA_ERROR_AUTHENTICATION_FAILED" {
        self.init(.beginAgain)
      } else {
        self.init(error == "LA_ERROR_BIOMETRY_NOT_AVAILABLE" ? .openSettings : .logIn)
      }
    case "OUTCOME_LOCKED_OUT":
      if let left {
        self.init(.useFactor, left)
      } else if Self.number(answer.retryAfter) > 0 {
        self.init(.wait, seconds: Self.seconds(answer.retryAfter))
      } else {
        self.init(factor == .passcode || factor == .gesture ? .setSecret : .logIn)
      }
    case "OUTCOME_FACTOR_REQUIRED":
      if let left {
        self.init(.useFactor, left)
      } else if next.contains(.primary) {
        self.init(.logIn)
      } else {
        self.init(answer.domainState.isChanged ? .bindAgain : .beginAgain)
      }
    default: self.init(.logIn)
    }
    if isKeyGone, kind == .done { notices = ["bind-again"] }
    show(answer.message ?? answer.denial?.message, in: languages)
  }

  /// After CompleteBinding.
  public init(bound: BoundPhone) {
    self.init(.done)
    notices = Self.notices(bound.advisories)
  }

  /// After a prompt about which nothing is sent, as while a phone is bound.
  /// - Parameter again: it is the second time in this evaluation.
  public init(prompt means: PhoneAnswer.Meaning, for factor: Factor, again: Bool, next: [Factor]) {
    switch means {
    case .retry where !again: self.init(.tryAgain, factor)
    case .keyGone, .retry: self.init(.bindAgain, next.firstUsable)
    case .cancel: self.init(.stay)
    case .failure: self.init(.beginAgain)
    case .unavailable, .notEnrolled, .noPasscode: self.init(.openSettings)
    default: self.init(.logIn)
    }
  }

  /// After a call that failed.
  public init(failure: CallFailure) {
    let reason = failure.status == "FAILED_PRECONDITION" ? failure.reason : failure.status
    self.init(reason: reason, retryAfter: failure.retryAfter)
  }

  /// After the kit refused to sign.
  public init(refusal: Refusal) {
    self.init(.stop)
  }

  /// After a refusal of this phone.
  public init(denial: Denial, in languages: String) {
    self.init(reason: denial.reason, retryAfter: denial.retryAfter)
    show(denial.message, in: languages)
  }

  /// - Parameter reason: of a denial or of FAILED_PRECONDITION, or another status.
  private init(reason: String?, retryAfter: String?) {
    switch reason {
    case "OS_TOO_OLD", "DOMAIN_STATE_REQUIRED": self.init(.updateSystem)
    case "PASSCODE_NOT_SET", "BIOMETRY_NOT_AVAILABLE", "BIOMETRY_NOT_ENROLLED": self.init(.openSettings)
    case "PLATFORM_DIFFERS", "BINDING_UNKNOWN", "BINDING_REVOKED", "NO_USABLE_FACTOR", "LEVEL_TOO_LOW",
      "APP_NOT_PROVEN", "NOT_FOUND":
      self.init(.bindAgain)
    case "PASSCODE_DISABLED", "GESTURE_DISABLED": self.init(.setSecret)
    case "WRONG_SECRET": self.init(.tryAgain)
    case "TICKET_INVALID", "DEADLINE_EXCEEDED", "CANCELLED": self.init(.beginAgain)
    case "APP_ASSERTION_NOT_ACCEPTED": self.init(.assertAgain)
    case "DEVICE_BOUND_TO_ANOTHER_PROFILE": self.init(.replaceBinding)
    case "TOO_MANY_BINDINGS": self.init(.revokeBinding)
    case "PASSCODE_LOCKED", "GESTURE_LOCKED", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED":
      self.init(.wait, seconds: Self.seconds(retryAfter))
    case "APP_ASSERTION_REQUIRED", "ATTESTATION_REQUIRED", "ATTESTATION_CONTRADICTS_PROTECTION", "PASSKEYS_NOT_SERVED",
      "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED":
      self.init(.fixApp)
    default: self.init(.logIn)
    }
  }

  /// Whole seconds, so that the wait is over when they are, and at most a day: a person who waits longer begins anew.
  private static func seconds(_ duration: String?) -> Int {
    let seconds = number(duration)
    return seconds > 1 ? Int(min(seconds, 86_400).rounded(.up)) : 1
  }

  /// The seconds of "59.200s"; 0: it has none.
  private static func number(_ duration: String?) -> Double {
    Double(duration?.dropLast() ?? "") ?? 0
  }

  private static func notices(_ advisories: [String]?) -> [String] {
    let known = ["DEVICE_REPLACED", "NO_RECOVERY_FACTOR", "SLOW_PROMPT"]
    return (advisories ?? []).filter(known.contains).map { String($0.lowercased().map { $0 == "_" ? "-" : $0 }) }
  }

  /// Shows the service's text for the person, if it is in the language that was asked for and hides nothing.
  private mutating func show(_ text: Message?, in languages: String) {
    guard text?.locale == Language.served(languages).rawValue else { return }
    message = (text?.text).legible(upTo: 1_024)
  }
}

extension [Factor] {
  /// The first one that a phone can offer. The app's own login is no prompt.
  fileprivate var firstUsable: Factor? {
    first { [.biometry, .deviceOwner, .passcode, .gesture, .passkey].contains($0) }
  }
}

extension Word? {
  fileprivate var isChanged: Bool { self?.name.hasPrefix("DOMAIN_STATE_VERDICT_CHANGED") == true }
}
