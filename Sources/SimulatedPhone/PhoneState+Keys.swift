// Keys: made, opened by who is present, destroyed.

extension PhoneState {
  struct KeyRecord: Sendable {
    let key: SoftwareKey
    let protection: Phone.KeyProtection
    let application: String
  }

  /// Fails where nobody could ever open the key: no passcode, or nothing enrolled for `biometryCurrentSet`.
  mutating func makeKey(
    _ protection: Phone.KeyProtection, application: String
  ) -> Result<Phone.Key, Phone.Failure> {
    guard passcode != nil else { return .failure(.passcodeNotSet) }
    if protection == .biometryCurrentSet, enrolled.isEmpty { return .failure(.biometryNotEnrolled) }
    let key = SoftwareKey(using: &randomness)
    keys[key.publicKeyX963] = KeyRecord(key: key, protection: protection, application: application)
    return .success(
      Phone.Key(publicKeyX963: key.publicKeyX963, protection: protection, application: application))
  }

  mutating func deleteKey(_ key: Phone.Key) {
    keys[key.publicKeyX963] = nil
  }

  /// Opens a key by an attempt of its own. Nothing is counted where the key is gone: no prompt comes up for it.
  mutating func open(
    _ key: Phone.Key, presenting presentation: Phone.Presentation, at now: Duration
  ) -> Result<SoftwareKey, Phone.SigningError> {
    guard let record = keys[key.publicKeyX963] else { return .failure(.keyNotFound) }
    guard record.protection.factors.contains(presentation.factor) else {
      return .failure(.notAuthenticated(.authenticationFailed))
    }
    return authenticate(presentation, at: now)
      .map { _ in record.key }
      .mapError(Phone.SigningError.notAuthenticated)
  }

  /// Opens a key by what was proven before: on this phone, to this app, by a factor that the key takes.
  func open(_ key: Phone.Key, after authentication: Phone.Authentication) -> Result<SoftwareKey, Phone.SigningError> {
    guard let record = keys[key.publicKeyX963] else { return .failure(.keyNotFound) }
    guard authentication.phoneSecret == secret, authentication.application == record.application,
      record.protection.factors.contains(authentication.factor)
    else { return .failure(.notAuthenticated(.authenticationFailed)) }
    return .success(record.key)
  }

  /// For good: enrolling the same finger again brings none of them back.
  mutating func destroyKeysOfCurrentSet() {
    keys = keys.filter { $0.value.protection != .biometryCurrentSet }
  }
}
