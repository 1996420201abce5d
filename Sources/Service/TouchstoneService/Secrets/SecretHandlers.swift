// SecretService: passcode and gesture, and the switches of each way to unlock a profile (R16, R17).

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerSecrets(_ methods: inout MethodTable) {
    typealias Service = V1.SecretService
    register(Service.setSecret, in: &methods, start: setSecret)
    register(Service.removeSecret, in: &methods, start: removeSecret)
    register(Service.getUnlockSettings, in: &methods, handler: getUnlockSettings)
    register(Service.setUnlockSettings, in: &methods, handler: setUnlockSettings)
  }

  // MARK: SetSecret, RemoveSecret

  /// The profile may be new, because the caller vouches for the person.
  @Sendable private func setSecret(
    _ request: V1.SetSecretRequest, _ exchange: Exchange<V1.SetSecretResponse>
  ) throws(RequestError) {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    let secret = validator.newSecret(request.secret, "secret")
    let confirmation = validator.secret(request.confirmation, "confirmation")
    if let secret, let confirmation, !confirmation.isEqual(to: secret) {
      validator.refuse("confirmation", "is not equal to secret", telling: .confirmationDiffers)
    }
    let authority: OfferedAuthority? =
      switch request.authority {
      case .oldSecret(let old): validator.oldSecret(old, of: secret?.kind)
      case .primary(let primary): validator.primary(primary, under: configuration.enrolment, at: clock())
      case nil: validator.noAuthority()
      }
    try validator.finish()
    guard let secret, let authority else { preconditionFailure("what is missing was refused above") }
    change(
      SecretChangeTerms(
        profile: ProfileName(request.applicationID, request.profileID), kind: secret.kind,
        newSecret: secret.bytes, authority: authority, caller: exchange.caller, enrolment: configuration.enrolment),
      for: exchange)
  }

  @Sendable private func removeSecret(
    _ request: V1.RemoveSecretRequest, _ exchange: Exchange<V1.RemoveSecretResponse>
  ) throws(RequestError) {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    let kind = validator.secretKind(request.kind, "kind")
    let authority: OfferedAuthority? =
      switch request.authority {
      case .oldSecret(let old): validator.oldSecret(old, of: kind)
      case .primary(let primary): validator.primary(primary, under: configuration.enrolment, at: clock())
      case nil: validator.noAuthority()
      }
    try validator.finish()
    guard let authority else { preconditionFailure("what is missing was refused above") }
    change(
      SecretChangeTerms(
        profile: ProfileName(request.applicationID, request.profileID), kind: kind,
        newSecret: nil, authority: authority, caller: exchange.caller, enrolment: configuration.enrolment),
      for: exchange)
  }

  // MARK: GetUnlockSettings, SetUnlockSettings

  /// An unknown profile has the settings of one that has changed nothing yet (R37).
  @Sendable private func getUnlockSettings(
    _ request: V1.GetUnlockSettingsRequest, _ exchange: Exchange<V1.GetUnlockSettingsResponse>
  ) async throws(RequestError) -> V1.GetUnlockSettingsResponse {
    try RequestValidator(request.applicationID, profileID: request.profileID).finish()
    let profile = try await profile(ProfileName(request.applicationID, request.profileID), for: exchange)
    return V1.GetUnlockSettingsResponse(settings: V1.UnlockSettings(profile))
  }

  @Sendable private func setUnlockSettings(
    _ request: V1.SetUnlockSettingsRequest, _ exchange: Exchange<V1.SetUnlockSettingsResponse>
  ) async throws(RequestError) -> V1.SetUnlockSettingsResponse {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    let settings = validator.settings(request.settings, "settings")
    let expected = request.expected.map { validator.settings($0, "expected") }
    // An operator of the console changes nothing without one.
    validator.reason(request.reason, isOptional: exchange.incoming.identifiedCaller == nil)
    try validator.finish()
    let name = ProfileName(request.applicationID, request.profileID)
    let reason = request.reason.isEmpty ? nil : request.reason
    for _ in DecisionRound.all {
      let profile = try await profile(name, for: exchange)
      if let expected, !profile.settings.hasSwitches(of: expected) {
        throw .failedPrecondition(RequestError.Reason.settingsChanged, "other settings than expected are in force")
      }
      let now = clock()
      var changed = profile
      changed.change(settings, at: now)
      var events = [
        EventDraft.settingsChanged(settings, name, statedReason: reason, caller: exchange.caller, time: now)
      ]
      if profile.standing.gesture.isSet && !changed.standing.gesture.isSet {
        events.append(.secret(.removed, .gesture, name, authority: "settings", caller: exchange.caller, time: now))
      }
      if try await commit(ChangeSet(changes: [.putProfile(changed)], events: events), for: exchange) {
        return V1.SetUnlockSettingsResponse(settings: V1.UnlockSettings(changed))
      }
    }
    throw .tooManyRounds
  }
}

extension RequestValidator {
  /// - Parameter kind: the kind of the secret that is changed; `nil`: the kind is unknown, and the request is refused
  ///   for that.
  fileprivate mutating func oldSecret(_ message: V1.Secret, of kind: Factor?) -> OfferedAuthority? {
    guard let old = secret(message, "old_secret") else { return nil }
    if let kind, old.kind != kind { refuse("old_secret", "is of another kind") }
    return .oldSecret(old)
  }

  fileprivate mutating func primary(
    _ message: V1.PrimaryAuthentication, under enrolment: EnrolmentPolicy, at now: UnixTime
  ) -> OfferedAuthority {
    .primary(authenticatedAt: authenticationTime(message, "primary", under: enrolment, at: now))
  }

  fileprivate mutating func noAuthority() -> OfferedAuthority? {
    refuse("authority", "is required: old_secret or primary")
    return nil
  }

  fileprivate mutating func settings(_ message: V1.UnlockSettings?, _ field: String) -> UnlockSettings {
    guard let message else {
      refuse(field, "is required")
      return UnlockSettings()
    }
    var settings = UnlockSettings(
      isBiometryEnabled: message.biometryEnabled, isGestureEnabled: message.gestureEnabled,
      isPasscodeEnabled: message.passcodeEnabled)
    if message.preferred != .unspecified {
      settings.preferred = Factor(message.preferred)
      if settings.preferred == nil { refuse("\(field).preferred", "\(message.preferred.rawValue) is not a factor") }
    }
    if let violation = settings.violation() { refuse("\(field).\(violation.field)", violation.reason) }
    return settings
  }
}
