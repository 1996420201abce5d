// The phone's state without clock, lock or queue: enrolled fingers, settings, attempts. Events go in, results come out.

struct PhoneState: Sendable {
  typealias Phone = SimulatedPhone

  /// The sensor's capacity: five fingers, or a face and its alternate appearance.
  static func enrollmentCapacity(of biometryType: Phone.BiometryType) -> Int {
    switch biometryType {
    case .none: 0
    case .touchID: 5
    case .faceID: 2
    }
  }

  let deviceModel: String
  let biometryType: Phone.BiometryType
  var osVersion: Phone.OSVersion
  var sensor = Phone.SensorCondition.working
  private(set) var passcode: String?
  private(set) var enrolled: Set<String>
  private(set) var attempts = AttemptLock()
  private(set) var lastBiometricUnlock: Duration?
  /// See `DomainState.salt`.
  private(set) var domainStateFormat: UInt8 = 0
  /// Distinguishes this phone from all others.
  let secret: [UInt8]
  var randomness: PhoneRandomness
  /// On the screen, which has room for one prompt.
  var evaluation: Evaluation?
  var evaluationsBegun = 0
  /// By public key.
  var keys: [[UInt8]: KeyRecord] = [:]
  var keychain: [Phone.KeychainItem.ID: KeychainRecord] = [:]
  var keychainItemsAdded = 0
  /// Apps that may not use Face ID, by their owner's choice.
  private(set) var applicationsWithoutFaceID: Set<String> = []

  init(
    deviceModel: String, biometryType: Phone.BiometryType, osVersion: Phone.OSVersion, passcode: String?,
    enrolled: Set<String>, randomness: PhoneRandomness
  ) {
    self.deviceModel = deviceModel
    self.biometryType = biometryType
    self.osVersion = osVersion
    self.passcode = passcode
    self.enrolled = enrolled
    self.randomness = randomness
    self.secret = self.randomness.bytes(count: 32)
  }
}

// Settings.
extension PhoneState {
  /// - Returns: whether anything changed. Nothing changes if this one is enrolled already or there is no room.
  mutating func enroll(_ template: String) -> Bool {
    guard enrolled.count < Self.enrollmentCapacity(of: biometryType), enrolled.insert(template).inserted
    else { return false }
    destroyWhatDiesWithCurrentSet()
    return true
  }

  /// - Returns: whether this one was enrolled.
  mutating func remove(_ template: String) -> Bool {
    guard enrolled.remove(template) != nil else { return false }
    destroyWhatDiesWithCurrentSet()
    return true
  }

  /// A key with access control lives only while a passcode is set (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`):
  /// without one, all are gone.
  mutating func setPasscode(_ passcode: String?) {
    self.passcode = passcode
    attempts.passcodeMatched()
    if passcode == nil { destroyWhatDiesWithPasscode() }
  }

  mutating func setFaceID(isAllowed: Bool, for application: String) {
    if isAllowed {
      applicationsWithoutFaceID.remove(application)
    } else {
      applicationsWithoutFaceID.insert(application)
    }
  }

  mutating func upgrade(to version: Phone.OSVersion, rewritingDomainState: Bool) {
    osVersion = version
    if rewritingDomainState { domainStateFormat &+= 1 }
  }
}

// Queries of an app that need no prompt.
extension PhoneState {
  /// - Parameter application: `nil`: the system itself, which needs no permission.
  private func isBiometryAvailable(to application: String?) -> Bool {
    guard sensor == .working else { return false }
    switch biometryType {
    case .none: return false
    case .touchID: return osVersion >= .withTouchID
    case .faceID:
      return osVersion >= .withFaceID && !(application.map(applicationsWithoutFaceID.contains) ?? false)
    }
  }

  /// Before iOS 9 the phone does not report it to apps.
  private var reportsLockout: Bool { osVersion >= .withDeviceOwner }

  /// iOS 8: after the fifth wrong finger the next evaluation begins with the passcode, which opens the lock.
  var promptsForLock: Bool { attempts.isBiometryLockedOut && !reportsLockout }

  /// `canEvaluatePolicy`: `nil` if the policy can be evaluated.
  func obstacle(to policy: Phone.Policy, for application: String?) -> Phone.Failure? {
    switch policy {
    case .devicePasscode: return passcode == nil ? .passcodeNotSet : nil
    case .deviceOwnerAuthentication:
      if osVersion < .withDeviceOwner { return .biometryNotAvailable }
      return passcode == nil ? .passcodeNotSet : nil
    case .deviceOwnerAuthenticationWithBiometrics:
      if osVersion < .withTouchID || biometryType == .none { return .biometryNotAvailable }
      if passcode == nil { return .passcodeNotSet }
      if !isBiometryAvailable(to: application) { return .biometryNotAvailable }
      if enrolled.isEmpty { return .biometryNotEnrolled }
      return attempts.isBiometryLockedOut && reportsLockout ? .biometryLockout : nil
    }
  }

  /// Why the sensor would not even read a finger: as `obstacle`, and also the lock that old systems do not report.
  func sensorObstacle(for application: String?) -> Phone.Failure? {
    obstacle(to: .deviceOwnerAuthenticationWithBiometrics, for: application)
      ?? (attempts.isBiometryLockedOut ? .authenticationFailed : nil)
  }

  func domainState(for application: String) -> [UInt8]? {
    guard osVersion >= .withDeviceOwner, sensorObstacle(for: application) == nil else { return nil }
    let salt = DomainState.salt(application: application, phoneSecret: secret, format: domainStateFormat)
    return DomainState.digest(of: enrolled, salt: salt)
  }

  func report(for application: String) -> Phone.Report {
    Phone.Report(
      platform: "ios", osVersion: osVersion.description, deviceModel: deviceModel, biometryType: biometryType,
      isBiometryAvailable: isBiometryAvailable(to: application), isBiometryEnrolled: !enrolled.isEmpty,
      isBiometryLockedOut: attempts.isBiometryLockedOut && reportsLockout, isPasscodeSet: passcode != nil,
      domainState: domainState(for: application) ?? [])
  }
}

// Attempts.
extension PhoneState {
  /// One attempt, counted: at an evaluation, at a key, at the lock screen (for no application).
  mutating func authenticate(
    _ presentation: Phone.Presentation, for application: String?, at now: Duration
  ) -> Result<Phone.Factor, Phone.Failure> {
    switch presentation {
    case .finger(let template): senseBiometry(template, by: .touchID, for: application)
    case .face(let template): senseBiometry(template, by: .faceID, for: application)
    case .passcode(let typed): checkPasscode(typed, at: now)
    }
  }

  /// An attempt at the lock screen.
  mutating func unlock(_ presentation: Phone.Presentation, at now: Duration) -> Result<Phone.Factor, Phone.Failure> {
    let result = authenticate(presentation, for: nil, at: now)
    if case .success(.biometry) = result { lastBiometricUnlock = now }
    return result
  }

  private mutating func senseBiometry(
    _ template: String, by type: Phone.BiometryType, for application: String?
  ) -> Result<Phone.Factor, Phone.Failure> {
    if let obstacle = sensorObstacle(for: application) { return .failure(obstacle) }
    guard type == biometryType else { return .failure(.biometryNotAvailable) }
    if enrolled.contains(template) {
      attempts.biometryMatched()
      return .success(.biometry)
    }
    attempts.biometryMismatched()
    // The attempt that locks gets the lock's code, if the OS has one.
    return .failure(sensorObstacle(for: application) ?? .authenticationFailed)
  }

  /// Neither checked nor counted while the passcode is locked.
  private mutating func checkPasscode(_ typed: String, at now: Duration) -> Result<Phone.Factor, Phone.Failure> {
    guard let passcode else { return .failure(.passcodeNotSet) }
    guard !attempts.isPasscodeLocked(at: now) else { return .failure(.authenticationFailed) }
    guard typed == passcode else {
      attempts.passcodeMismatched(at: now)
      return .failure(.authenticationFailed)
    }
    attempts.passcodeMatched()
    return .success(.passcode)
  }
}
