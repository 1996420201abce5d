// An app's request for a proof of presence, and its prompt.

extension SimulatedPhone {
  /// The required proof.
  public enum Policy: Sendable, Hashable, CaseIterable {
    /// `LAPolicy.deviceOwnerAuthenticationWithBiometrics`.
    case deviceOwnerAuthenticationWithBiometrics
    /// `LAPolicy.deviceOwnerAuthentication`: biometrics or the phone's passcode. iOS 9.
    case deviceOwnerAuthentication
    /// Only the phone's passcode. Access controls require it; there is no such `LAPolicy`.
    case devicePasscode

    /// The factors of which any meets it.
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
    /// The requesting app: its bundle identifier.
    public var application: String
    public var localizedReason: String
    /// `nil`: the system's title; empty: no fallback button.
    public var fallbackTitle: String?
    /// `nil`: the system's title. Shown from iOS 10 on.
    public var cancelTitle: String?
    /// Shows no prompt: fails with `notInteractive` if one were needed.
    public var isInteractionForbidden: Bool
    /// An unlock of the phone by biometrics within this time is enough. At most `maximumReuse`.
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

  /// Identifies an evaluation on its phone.
  public struct EvaluationID: Sendable, Hashable {
    let number: Int
  }

  /// A proof of presence, for the requesting app. Only a phone makes one.
  public struct Authentication: Sendable, Hashable {
    public let factor: Factor
    public let application: String
    let phoneSecret: [UInt8]
  }

  /// The prompt on the screen.
  public struct Prompt: Sendable, Hashable {
    public enum Sheet: Sendable, Hashable {
      case touchID
      case faceID
      case passcode
    }

    public let sheet: Sheet
    /// Face ID stops after two unknown faces; the sheet stays, with its buttons.
    public let isSensing: Bool
    public let application: String
    public let localizedReason: String
    /// `nil`: the button is not there.
    public let fallbackTitle: String?
    public let cancelTitle: String

    /// Whether the prompt accepts this action: it has no keys for a finger, and no absent button.
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

  /// The result of a person's action.
  public enum Reaction: Sendable, Hashable {
    /// There was no prompt, or it does not accept this action.
    case nothing
    /// The evaluation goes on with this prompt.
    case prompting(Prompt)
    /// The evaluation ended, and its app gets the result.
    case ended(Result<Factor, Failure>)
  }
}
