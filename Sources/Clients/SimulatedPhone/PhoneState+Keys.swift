// Keys: made, opened by the person who is present, destroyed.

extension PhoneState {
  struct KeyRecord: Sendable {
    let key: SoftwareKey
    let application: String
    var accessGuard: AccessGuard
  }

  mutating func makeKey(
    _ accessControl: Phone.AccessControl, application: String
  ) -> Result<Phone.Key, Phone.Failure> {
    let accessGuard = AccessGuard(accessControl)
    if let obstacle = obstacle(toMaking: accessGuard) { return .failure(obstacle) }
    let key = SoftwareKey(using: &randomness)
    keys[key.publicKeyX963] = KeyRecord(key: key, application: application, accessGuard: accessGuard)
    return .success(
      Phone.Key(publicKeyX963: key.publicKeyX963, accessControl: accessControl, application: application))
  }

  mutating func deleteKey(_ key: Phone.Key) {
    keys[key.publicKeyX963] = nil
  }

  /// Opens a key by its own attempt. Nothing is counted if the key is gone, because no prompt appears for it.
  mutating func open(
    _ key: Phone.Key, presenting presentation: Phone.Presentation, at now: Duration
  ) -> Result<SoftwareKey, Phone.SigningError> {
    guard let record = keys[key.publicKeyX963] else { return .failure(.keyNotFound) }
    // One attempt cannot meet two conditions.
    guard record.accessGuard.demand(after: [presentation.factor]) == nil
    else { return .failure(.notAuthenticated(.authenticationFailed)) }
    return authenticate(presentation, for: record.application, at: now)
      .map { _ in record.key }
      .mapError(Phone.SigningError.notAuthenticated)
  }

  /// Opens a key by earlier proofs: on this phone, for this app, by factors that the key accepts.
  func open(
    _ key: Phone.Key, after authentications: [Phone.Authentication]
  ) -> Result<SoftwareKey, Phone.SigningError> {
    guard let record = keys[key.publicKeyX963] else { return .failure(.keyNotFound) }
    guard record.accessGuard.demand(after: proven(by: authentications, to: record.application)) == nil
    else { return .failure(.notAuthenticated(.authenticationFailed)) }
    return .success(record.key)
  }

  /// Returns the policy that must still succeed before the key signs; `nil`: none, or there is no such key.
  func demand(of key: Phone.Key, after authentications: [Phone.Authentication]) -> Phone.Policy? {
    keys[key.publicKeyX963].flatMap { record in
      record.accessGuard.demand(after: proven(by: authentications, to: record.application)).map(Phone.Policy.init)
    }
  }
}
