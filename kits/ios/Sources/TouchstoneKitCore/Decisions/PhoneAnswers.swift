// Reads a phone's answers: its errors, its posture, its state. An Android app in Swift decides by the same functions.

/// The meaning of a platform's code, and the report about it.
public struct PhoneAnswer: Hashable, Sendable {
  public enum Meaning: String, Sendable {
    case success, failure, cancel, fallback, lockout, unavailable, retry
    case notEnrolled = "not-enrolled"
    case noPasscode = "no-passcode"
    case keyGone = "key-gone"
  }

  /// The LAError to report; `nil`: nothing is sent.
  public let send: Int?
  public let means: Meaning

  private init(_ send: Int?, _ means: Meaning) {
    (self.send, self.means) = (send, means)
  }

  /// - Parameter isClosedByApp: the app itself took its prompt away.
  public static func ofLAError(_ code: Int, isClosedByApp: Bool = false) -> PhoneAnswer {
    switch code {
    case 0: return .init(nil, .success)
    case -1: return .init(code, .failure)
    case -9 where isClosedByApp: return .init(nil, .cancel)
    case -2, -4, -9: return .init(code, .cancel)
    case -3: return .init(code, .fallback)
    case -5: return .init(code, .noPasscode)
    case -7: return .init(code, .notEnrolled)
    case -8: return .init(code, .lockout)
    case -10: return .init(code, .retry)
    default: return .init(code, .unavailable)
    }
  }

  /// A result of the keychain or of a key.
  public static func ofStatus(_ status: Int) -> PhoneAnswer {
    switch status {
    case 0: return .init(nil, .success)
    case -25_300, -26_275: return .init(nil, .keyGone)  // errSecItemNotFound, errSecDecode
    case -25_293: return .init(-1, .failure)  // errSecAuthFailed
    case -128: return .init(-2, .cancel)  // errSecUserCanceled
    case -25_308: return .init(-1_004, .unavailable)  // errSecInteractionNotAllowed
    case -25_299: return .init(nil, .retry)  // errSecDuplicateItem
    default: return .init(-6, .unavailable)
    }
  }

  /// An error of CryptoTokenKit, which keys of the Secure Enclave answer (TKError).
  public static func ofToken(_ code: Int) -> PhoneAnswer {
    switch code {
    case -2, -3, -9: return .init(nil, .retry)  // communicationError, corruptedData, authenticationNeeded
    case -4: return .init(-2, .cancel)
    case -5: return .init(-1, .failure)
    case -6: return .init(nil, .keyGone)  // objectNotFound
    default: return .init(-6, .unavailable)
    }
  }

  /// An error code of Android's BiometricPrompt.
  /// - Parameter isFallback: its button had `fallbackTitle`.
  public static func ofBiometricPrompt(
    _ code: Int, isFallback: Bool = false, isClosedByApp: Bool = false
  ) -> PhoneAnswer {
    switch code {
    case 5 where isClosedByApp: return .init(nil, .cancel)
    case 2, 3, 5: return .init(-4, .cancel)
    case 7, 9: return .init(-8, .lockout)
    case 10: return .init(-2, .cancel)
    case 11: return .init(-7, .notEnrolled)
    case 13: return isFallback ? .init(-3, .fallback) : .init(-2, .cancel)
    case 14: return .init(-5, .noPasscode)
    default: return .init(-6, .unavailable)
    }
  }

  /// A callback of Android's BiometricPrompt, or an exception of its Keystore, by its simple name.
  public static func ofAndroid(_ name: String) -> PhoneAnswer {
    switch name {
    case "onAuthenticationSucceeded": return .init(nil, .success)
    case "onAuthenticationFailed": return .init(-1, .failure)
    case "KeyPermanentlyInvalidatedException", "UnrecoverableKeyException", "KeyNotFound": return .init(nil, .keyGone)
    case "UserNotAuthenticatedException", "SignatureException": return .init(nil, .retry)
    default: return .init(-6, .unavailable)
    }
  }
}

public struct Posture: Codable, Hashable, Sendable {
  public var platform, osVersion, deviceModel: String
  /// The number in the API: 0 not told, 1 none, 2 Touch ID, 3 Face ID, 4 Optic ID.
  public var biometryType = 0
  public var biometryAvailable = false
  public var biometryEnrolled = false
  public var biometryLockedOut = false
  public var passcodeSet = false
  /// Empty while biometrics are locked, and on Android.
  public var domainState = Data()

  /// - Throws: ``Refusal``, if the service would refuse the texts.
  public init(platform: String, osVersion: String, deviceModel: String) throws {
    guard ["ios", "ipados", "macos", "visionos", "android", "web"].contains(platform) else {
      throw Refusal("unknown-platform")
    }
    guard !osVersion.isEmpty else { throw Refusal("no-os-version") }
    guard osVersion.utf8.count <= 64, deviceModel.utf8.count <= 64 else { throw Refusal("text-too-long") }
    (self.platform, self.osVersion, self.deviceModel) = (platform, osVersion, deviceModel)
  }

  /// Takes over what LAContext answered.
  /// - Parameters:
  ///   - type: the number of `LABiometryType`.
  ///   - biometricsError: of `canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics)`; `nil`: none.
  ///   - deviceOwnerError: of `canEvaluatePolicy(.deviceOwnerAuthentication)`.
  public mutating func read(type: Int, biometricsError: Int?, deviceOwnerError: Int?, domainState: Data?) throws {
    guard (domainState ?? Data()).count <= 256 else { throw Refusal("domain-state-too-long") }
    biometryType = [0: 1, 1: 2, 2: 3, 4: 4][type] ?? 0
    biometryAvailable = [nil, -5, -7, -8].contains(biometricsError)
    biometryEnrolled = [nil, -8].contains(biometricsError)
    biometryLockedOut = biometricsError == -8
    passcodeSet = biometricsError != -5 && deviceOwnerError != -5
    self.domainState = biometryLockedOut ? Data() : domainState ?? Data()
  }

  /// Takes over what Android answered.
  /// - Parameter canAuthenticate: of `BiometricManager.canAuthenticate(BIOMETRIC_STRONG)`.
  public mutating func read(canAuthenticate: Int, isDeviceSecure: Bool, isLockedOut: Bool) {
    biometryType = canAuthenticate == 12 ? 1 : 0
    biometryAvailable = canAuthenticate == 0 || canAuthenticate == 11
    biometryEnrolled = canAuthenticate == 0
    biometryLockedOut = isLockedOut
    passcodeSet = isDeviceSecure
  }

  /// Takes over whether a browser's device verifies its user.
  public mutating func read(isUserVerifying: Bool) {
    (biometryAvailable, biometryEnrolled, passcodeSet) = (isUserVerifying, isUserVerifying, isUserVerifying)
  }
}

/// Whether Touch ID can be used, from what the phone keeps and finds.
public enum PhoneState: String, Sendable {
  case ready
  case notEnabled = "not-enabled"
  /// A key is gone: a finger was added or removed, or the passcode was switched off.
  case bindAgain = "bind-again"
  /// The keychain outlived the app. Its App Attest key did not.
  case reinstalled
  /// The binding is another account's.
  case otherProfile = "other-profile"

  /// The binding is no longer the app's. The device's id stays.
  public var forgetsBinding: Bool { self == .reinstalled }
  /// Keys without a binding serve nothing.
  public var forgetsKeys: Bool { self == .reinstalled || self == .notEnabled }

  public struct Kept: Sendable {
    public var profile: String?
    public var installation: String
    public var made: Set<Factor>

    public init(profile: String?, installation: String, made: Set<Factor>) {
      (self.profile, self.installation, self.made) = (profile, installation, made)
    }
  }

  /// - Parameters:
  ///   - kept: with the binding; `nil`: there is none.
  ///   - installation: the app's own mark; `nil`: this is its first start.
  ///   - profile: the account that is logged in; `nil`: none, or not known.
  public init(kept: Kept?, installation: String?, found: Set<Factor>, profile: String?) {
    guard let kept else {
      self = .notEnabled
      return
    }
    if kept.installation != installation {
      self = .reinstalled
    } else if let profile, let owner = kept.profile, !profile.utf8.elementsEqual(owner.utf8) {
      self = .otherProfile
    } else {
      self = found.isSuperset(of: kept.made) ? .ready : .bindAgain
    }
  }
}

extension Evaluation {
  /// For how many seconds an evaluation is relied on. A phone's clock may be off, so its time alone ends none.
  public static func lifetime(until expiry: Double, at phoneTime: Double) -> Double {
    // A service's own setting is at most ten minutes. Otherwise the clock is off, and the default holds.
    let seconds = expiry - phoneTime
    return (1...600).contains(seconds) ? seconds : 120
  }
}
