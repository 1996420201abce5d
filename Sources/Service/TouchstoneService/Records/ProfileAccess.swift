// A profile's record, for changes of its secrets and settings.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// One account in one application.
struct ProfileName: Sendable {
  var applicationID: String
  var profileID: String

  init(_ applicationID: String, _ profileID: String) {
    (self.applicationID, self.profileID) = (applicationID, profileID)
  }
}

extension TouchstoneService {
  /// The record has version 0 where nothing is known of the profile.
  func profile<Response>(
    _ name: ProfileName, for exchange: Exchange<Response>
  ) async throws(RequestError) -> ProfileRecord {
    let query = SubjectQuery(named: .profile(name.profileID), applicationID: name.applicationID)
    let records: AttemptRecords = try await exchange.value { self.records(query, completion: $0) }
    return records.profile
  }
}

extension ProfileRecord {
  /// As an event names it. One of which nothing is known may have been erased: it stays unnamed.
  var eventName: ProfileName {
    ProfileName(applicationID, version > 0 ? profileID : "")
  }

  /// A secret that was set, proven by the old one or by primary authentication (R16).
  ///
  /// - Parameter factor: passcode or gesture.
  mutating func setSecret(_ factor: Factor, verifier: [UInt8], at now: UnixTime) {
    take(standing.settingSecret(factor, at: now), at: now)
    guard var secret = secret(factor) else { preconditionFailure("a secret that is set has a record") }
    secret.verifier = verifier
    secret.set(at: now)
    setSecret(secret, factor)
  }

  /// Erases a secret: removes its verifier, and keeps the counts that slow down guessers.
  mutating func eraseSecret(_ factor: Factor, at now: UnixTime) {
    take(standing.erasingSecret(factor, at: now), at: now)
  }

  mutating func change(_ settings: UnlockSettings, at now: UnixTime) {
    take(standing.changing(settings, at: now), at: now)
  }

  /// After an operator's word: no failures and no lock.
  mutating func unlockSecret(_ factor: Factor) {
    guard var secret = secret(factor) else { return }
    secret.standing = SecretStanding(isSet: secret.standing.isSet, generation: secret.standing.generation &+ 1)
    setSecret(secret, factor)
  }

  /// Takes over the standing that the rules made.
  private mutating func take(_ standing: ProfileStanding, at now: UnixTime) {
    self = written()
    settings = standing.settings
    for factor in [Factor.passcode, .gesture] where standing.secret(for: factor) != self.standing.secret(for: factor) {
      var secret = secret(factor) ?? SecretRecord(verifier: [], standing: SecretStanding(), setAt: now)
      secret.standing = standing.secret(for: factor)
      if !secret.standing.isSet {
        secret.verifier = []
        secret.set(at: now)
      }
      setSecret(secret, factor)
    }
  }
}

extension V1.UnlockSettings {
  init(_ profile: ProfileRecord) {
    let settings = profile.settings
    self.init(
      biometryEnabled: settings.isBiometryEnabled, gestureEnabled: settings.isGestureEnabled,
      passcodeEnabled: settings.isPasscodeEnabled, preferred: settings.preferred.map(V1.Factor.init) ?? .unspecified,
      gestureSet: profile.standing.gesture.isSet, passcodeSet: profile.standing.passcode.isSet,
      updatedAt: settings.updatedAt.map(V1.Timestamp.init))
  }
}
