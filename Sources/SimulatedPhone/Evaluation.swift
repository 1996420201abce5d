// An app's request that the owner prove to be present, and the prompt that it becomes.

extension SimulatedPhone {
  /// What has to be proven.
  public enum Policy: Sendable, Hashable, CaseIterable {
    /// `LAPolicy.deviceOwnerAuthenticationWithBiometrics`.
    case deviceOwnerAuthenticationWithBiometrics
    /// `LAPolicy.deviceOwnerAuthentication`: biometrics or the phone's passcode. iOS 9.
    case deviceOwnerAuthentication
    /// The phone's passcode alone. Access controls ask for it; there is no such `LAPolicy`.
    case devicePasscode

    /// Any of these meets it.
    public var factors: Set<Factor> {
      switch self {
      case .deviceOwnerAuthenticationWithBiometrics: [.biometry]
      case .deviceOwnerAuthentication: [.biometry, .passcode]
      case .devicePasscode: [.passcode]
      }
    }

    init(_ factors: Set<Factor>) {
      switch (factors.contains(.biometry), factors.contains(.passcode)) {
      case (true, false): self = .deviceOwnerAuthenticationWithBiometrics
      case (false, true): self = .devicePasscode
      default: self = .deviceOwnerAuthentication
      }
    }
  }

  public struct EvaluationRequest: Sendable, Hashable {
    public var policy: Policy
    /// The app that asks: its bundle identifier.
    public var application: String
    public var localizedReason: String
    /// `nil`: the system's title; empty: no fallback button.
    public var fallbackTitle: String?
    /// `nil`: the system's title. Shown from iOS 10 on.
    public var cancelTitle: String?
    /// No prompt, please: fail with `notInteractive` where one were needed.
    public var isInteractionForbidden: Bool
    /// An unlock of the phone by biometrics so recent is enough. At most `maximumReuse`.
    public var allowedReuse: Duration

    /// `LATouchIDAuthenticationMaximumAllowableReuseDuration`.
    public static let maximumReuse: Duration = .seconds(5 * 60)

    public init(
      _ policy: Policy, application: String, localizedReason: String, fallbackTitle: String? = nil,
      cancelTitle: String? = nil, isInteractionForbidden: Bool = false, allowedReuse: Duration = .zero
    ) {
      self.policy = policy
      self.application = application
      self.localizedReason = localizedReason
      self.fallbackTitle = fallbackTitle
      self.cancelTitle = cancelTitle
      self.isInteractionForbidden = isInteractionForbidden
      self.allowedReuse = allowedReuse
    }
  }

  /// Names an evaluation on its phone.
  public struct EvaluationID: Sendable, Hashable {
    let number: Int
  }

  /// A proof of presence, for the app that asked. Only a phone makes one.
  public struct Authentication: Sendable, Hashable {
    public let factor: Factor
    public let application: String
    let phoneSecret: [UInt8]
  }

  /// What is on the screen.
  public struct Prompt: Sendable, Hashable {
    public enum Sheet: Sendable, Hashable {
      case touchID
      case faceID
      case passcode
    }

    public let sheet: Sheet
    /// Face ID gives up after two faces that it does not know; the sheet stays, with its buttons.
    public let isSensing: Bool
    public let application: String
    public let localizedReason: String
    /// `nil`: the button is not there.
    public let fallbackTitle: String?
    public let cancelTitle: String

    /// Whether the prompt has room for this: no finger is typed, and no absent button tapped.
    public func allows(_ action: PersonAction) -> Bool {
      switch (action, sheet) {
      case (.present(.finger), .touchID), (.present(.face), .faceID): isSensing
      case (.present(.passcode), .passcode): true
      case (.present, _): false
      case (.tapFallback, _): fallbackTitle != nil
      case (.tapCancel, _), (.pressHome, _), (.lockScreen, _), (.leaveApp, _), (.takeCall, _): true
      }
    }
  }

  /// What came of a person's action.
  public enum Reaction: Sendable, Hashable {
    /// No prompt was there, or none with room for this.
    case nothing
    /// The evaluation goes on with this prompt.
    case prompting(Prompt)
    /// The evaluation ended; its app is told.
    case ended(Result<Factor, Failure>)
  }
}
