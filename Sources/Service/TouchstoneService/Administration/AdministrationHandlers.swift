// AdministrationService: for operators and support staff.

internal import Encodings
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerAdministration(_ methods: inout MethodTable) {
    typealias Service = V1.AdministrationService
    register(Service.getProfile, in: &methods, handler: getProfile)
    register(Service.findProfiles, in: &methods, handler: findProfiles)
    register(Service.unlockDevice, in: &methods, handler: unlockDevice)
    register(Service.listEvents, in: &methods, handler: listEvents)
    register(Service.unlockSecret, in: &methods, handler: unlockSecret)
    register(Service.eraseProfile, in: &methods, handler: eraseProfile)
    register(Service.watchEvents, in: &methods, handler: watchEvents)
    register(Service.explainEvaluation, in: &methods, handler: explainEvaluation)
  }

  // MARK: GetProfile

  /// How many revoked bindings are shown beside the active ones.
  private static let revokedBindingLimit = 100

  @Sendable private func getProfile(
    _ request: V1.GetProfileRequest, _ exchange: Exchange<V1.GetProfileResponse>
  ) async throws(RequestError) -> V1.GetProfileResponse {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    let entry = diagnosedPolicy(request.policy, of: request.applicationID, with: &validator)
    try validator.finish()
    let name = ProfileName(request.applicationID, request.profileID)
    let (profile, bindings) = try await knownProfile(name, for: exchange)
    let active = bindings.filter { !$0.isRevoked }
    var response = V1.GetProfileResponse(
      bindings: bindings.map(V1.Binding.init), secrets: profile.secretStandings,
      settings: V1.UnlockSettings(profile), postures: bindings.compactMap(V1.SeenPosture.init),
      advisories: Advisory.ofRecovery(bindings: active.map(\.standing), profile: profile.standing).map(\.rawValue))
    for id in Self.deviceIDs(active) {
      let device = try await device(id, of: request.applicationID, for: exchange)
      response.devices.append(
        V1.DeviceStanding(
          deviceID: device.deviceID, biometryFailures: device.biometry.consecutiveFailures,
          biometryLockedOut: device.biometry.isLockedOut))
    }
    response.diagnoses = diagnoses(of: profile, bindings, response.devices, under: entry?.policy)
    return response
  }

  /// Reads a profile and its bindings. Nothing known of it is an event, and refuses the call.
  func knownProfile<Response>(
    _ name: ProfileName, for exchange: Exchange<Response>
  ) async throws(RequestError) -> (ProfileRecord, [BindingRecord]) {
    let bindings = try await shownBindings(of: name, for: exchange)
    let profile = try await profile(name, for: exchange)
    if !bindings.isEmpty || profile.version > 0 { return (profile, bindings) }
    let event = EventDraft.profile(
      .refused, applicationID: name.applicationID, reason: RequestError.Reason.notFound, caller: exchange.caller,
      time: clock())
    try await refuse(
      .notFound("nothing is known of this profile in this application"),
      recording: ThrottledEvent(event, about: name.profileID), for: exchange)
    throw .tooManyRounds
  }

  /// Reads the active bindings, then some revoked ones.
  private func shownBindings<Response>(
    of name: ProfileName, for exchange: Exchange<Response>
  ) async throws(RequestError) -> [BindingRecord] {
    // The maximum of active bindings (R29), and the revoked ones.
    let limit = configuration.enrolment.maximumBindingsPerProfile + Self.revokedBindingLimit
    let permit = try await bindingPermits.permit(for: exchange, applicationID: name.applicationID)
    let active = try await bindings(of: name, includingRevoked: false, limit: limit, ending: nil, for: exchange)
    let all = try await bindings(of: name, includingRevoked: true, limit: limit, ending: permit, for: exchange)
    let revoked = all.filter(\.isRevoked).prefix(Self.revokedBindingLimit)
    // A binding that was revoked since the first read is in both lists.
    return active.filter { binding in
      !revoked.contains { Identifier.areEqual($0.bindingID, binding.bindingID) }
    } + revoked
  }

  private func device<Response>(
    _ id: String, of applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> DeviceRecord {
    try await exchange.value { store.device(id: id, vendor: vendor(of: applicationID), completion: $0) }
  }

  /// Lists each id once, compared by bytes: a `Set` of texts takes two spellings of "é" for one.
  private static func deviceIDs(_ bindings: [BindingRecord]) -> [String] {
    var ids: [String] = []
    for binding in bindings where !ids.contains(where: { Identifier.areEqual($0, binding.deviceID) }) {
      ids.append(binding.deviceID)
    }
    return ids
  }

  // MARK: UnlockDevice

  /// Unlocks only a device that is bound in this application, because all applications of a vendor share its count
  /// (R8).
  @Sendable private func unlockDevice(
    _ request: V1.UnlockDeviceRequest, _ exchange: Exchange<V1.UnlockDeviceResponse>
  ) async throws(RequestError) -> V1.UnlockDeviceResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.deviceID, "device_id")
    validator.reason(request.reason)
    try validator.finish()
    for _ in DecisionRound.all {
      let binding = try await bindingOnDevice(request.deviceID, of: request.applicationID, for: exchange)
      var device = try await device(request.deviceID, of: request.applicationID, for: exchange)
      guard device.biometry != BiometryStanding() else {
        try await confirm(for: exchange)
        return V1.UnlockDeviceResponse(changed: false)
      }
      device.biometry = BiometryStanding()
      let event = EventDraft.device(
        .unlocked, request.deviceID, applicationID: request.applicationID, profileID: binding.profileID,
        statedReason: request.reason, caller: exchange.caller, time: clock())
      let changes: [Change] = [.require(binding), .putDevice(device)]
      if try await commit(ChangeSet(changes: changes, events: [event]), for: exchange) {
        return V1.UnlockDeviceResponse(changed: true)
      }
    }
    throw .tooManyRounds
  }

  private func bindingOnDevice<Response>(
    _ deviceID: String, of applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> BindingRecord {
    let binding = try await exchange.value {
      store.activeBinding(applicationID: applicationID, deviceID: deviceID, completion: $0)
    }
    if let binding { return binding }
    let event = EventDraft.device(
      .refused, deviceID, applicationID: applicationID, profileID: "", reason: RequestError.Reason.notFound,
      caller: exchange.caller, time: clock())
    try await refuse(
      .notFound("no binding of this application is on this device"), recording: ThrottledEvent(event, about: deviceID),
      for: exchange)
    throw .tooManyRounds
  }

  // MARK: UnlockSecret

  /// Ends a lock before its time. A disabled secret stays disabled until it is set anew (R13), because an operator
  /// cannot tell the owner from an attacker.
  @Sendable private func unlockSecret(
    _ request: V1.UnlockSecretRequest, _ exchange: Exchange<V1.UnlockSecretResponse>
  ) async throws(RequestError) -> V1.UnlockSecretResponse {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    let kind = validator.secretKind(request.kind, "kind")
    validator.reason(request.reason)
    try validator.finish()
    let name = ProfileName(request.applicationID, request.profileID)
    for _ in DecisionRound.all {
      var profile = try await profile(name, for: exchange)
      let now = clock()
      if let (error, reason) = refusal(ofUnlocking: kind, of: profile, at: now) {
        let event = EventDraft.secret(
          .refused, kind, profile.eventName, reason: reason, caller: exchange.caller, time: now)
        try await refuse(
          error, recording: ThrottledEvent(event, about: name.profileID, on: [.require(profile)]), for: exchange)
        continue
      }
      guard let standing = profile.secret(kind)?.standing, standing.failures > 0 || standing.lock != .none else {
        try await confirm(for: exchange)
        return V1.UnlockSecretResponse(changed: false)
      }
      profile.unlockSecret(kind)
      let event = EventDraft.secret(
        .unlocked, kind, name, statedReason: request.reason, caller: exchange.caller, time: now)
      if try await commit(ChangeSet(changes: [.putProfile(profile)], events: [event]), for: exchange) {
        return V1.UnlockSecretResponse(changed: true)
      }
    }
    throw .tooManyRounds
  }

  /// Returns the error, and the event's reason; `nil`: it may be unlocked.
  private func refusal(
    ofUnlocking kind: Factor, of profile: ProfileRecord, at now: UnixTime
  ) -> (RequestError, reason: String)? {
    guard let secret = profile.secret(kind), secret.standing.isSet else {
      return (.notFound("the profile has no such secret"), RequestError.Reason.notFound)
    }
    let state = SecretRules(ladder: policies.ladder(for: kind)).state(of: secret.standing, at: now)
    guard state == .disabled || secret.standing.lock == .untilSetAnew else { return nil }
    let reason: Denial.Reason = kind == .gesture ? .gestureDisabled : .passcodeDisabled
    let denial = Denial(code: .authenticationFailed, reason: reason)
    return (
      .failedPrecondition(denial, "it is disabled until it is set anew", biometry: .unspecified), reason.rawValue
    )
  }

  // MARK: EraseProfile

  /// Also erases a profile without a record, because events may name it.
  @Sendable private func eraseProfile(
    _ request: V1.EraseProfileRequest, _ exchange: Exchange<V1.EraseProfileResponse>
  ) async throws(RequestError) -> V1.EraseProfileResponse {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    validator.reason(request.reason)
    if Identifier.isTold(request.profileID, by: request.reason) {
      validator.refuse("reason", "names the profile; its event outlives the erasure")
    }
    try validator.finish()
    let permit = try await erasurePermits.permit(for: exchange, applicationID: request.applicationID)
    let erasure = ProfileErasure(
      applicationID: request.applicationID, profileID: request.profileID, time: clock(),
      caller: exchange.caller.identity, reason: request.reason)
    try await exchange.value { store.commit(ChangeSet(changes: [.eraseProfile(erasure)]), completion: $0) }
    // Read after the erasure, so that the answer covers every event that was archived before it.
    let start = try await exchange.value(ending: permit) { store.eventChainStart(completion: $0) }
    exchange.logDecision("profile.erased", in: request.applicationID)
    return V1.EraseProfileResponse(archivedThrough: start.sequence)
  }

  // MARK: ListEvents

  private static let defaultEventCount = 100
  private static let maximumEventCount: UInt32 = 1_000
  private static let maximumKindPrefixes = 32

  @Sendable private func listEvents(
    _ request: V1.ListEventsRequest, _ exchange: Exchange<V1.ListEventsResponse>
  ) async throws(RequestError) -> V1.ListEventsResponse {
    var validator = RequestValidator()
    var filter = Self.eventFilter(request.filter, with: &validator)
    let since = request.since.map { validator.time($0, "since") }
    let until = request.until.map { validator.time($0, "until") }
    if let since, let until, until <= since { validator.refuse("until", "must be after since") }
    if request.pageSize > Self.maximumEventCount {
      validator.refuse("page_size", "must be at most \(Self.maximumEventCount)")
    }
    // A page token is the number of the last event that was read, so it reveals only how many events there are.
    let position = request.pageToken.isEmpty ? request.afterSequence : UInt64(request.pageToken)
    if position == nil { validator.refuse("page_token", "is not one of this method") }
    try validator.finish()
    let limit = request.pageSize == 0 ? Self.defaultEventCount : Int(request.pageSize)
    if since ?? until != nil {
      filter.times = (since ?? UnixTime(microseconds: .min))..<(until ?? UnixTime(microseconds: .max))
    }
    return try await EventList(filter, limit: limit, for: exchange, store: store, permits: eventPermits)
      .read(after: position ?? 0, since: since, until: until)
  }

  private static func eventFilter(_ message: V1.EventFilter?, with validator: inout RequestValidator) -> EventFilter {
    let filter = message ?? V1.EventFilter()
    // Empty means all applications, which needs a grant for all.
    validator.optionalIdentifier(filter.applicationID, "filter.application_id")
    validator.optionalIdentifier(filter.profileID, "filter.profile_id")
    if filter.applicationID.isEmpty, !filter.profileID.isEmpty {
      validator.refuse("filter.profile_id", "is one of an application: filter.application_id is required")
    }
    if filter.kinds.count > maximumKindPrefixes {
      validator.refuse("filter.kinds", "must be at most \(maximumKindPrefixes)")
    }
    for (index, kind) in filter.kinds.prefix(maximumKindPrefixes).enumerated() {
      validator.kind(kind, "filter.kinds[\(index)]")
    }
    validator.optionalIdentifier(filter.deviceID, "filter.device_id")
    validator.optionalIdentifier(filter.bindingID, "filter.binding_id")
    validator.optionalIdentifier(filter.caller, "filter.caller")
    validator.optionalIdentifier(filter.reason, "filter.reason")
    var admitted = EventFilter(
      applicationID: filter.applicationID, profileID: filter.profileID, kindPrefixes: filter.kinds)
    (admitted.deviceID, admitted.bindingID) = (filter.deviceID, filter.bindingID)
    (admitted.caller, admitted.reason) = (filter.caller, filter.reason)
    return admitted
  }

  // MARK: WatchEvents

  @Sendable private func watchEvents(
    _ request: V1.WatchEventsRequest, _ exchange: StreamExchange<V1.WatchEventsResponse>
  ) throws(RequestError) -> MethodTable.StreamEvents {
    var validator = RequestValidator()
    let filter = Self.eventFilter(request.filter, with: &validator)
    try validator.finish()
    return try watches.watch(filter, after: request.afterSequence, on: exchange, access)
  }
}

extension RequestValidator {
  /// A kind of event, or the beginning of one.
  fileprivate mutating func kind(_ text: String, _ field: String) {
    if let reason = Identifier.violation(in: text) { return refuse(field, reason) }
    guard !EventKinds.all.contains(where: { $0.utf8.starts(with: text.utf8) }) else { return }
    let hint = suggestion(for: text, among: EventKinds.all + EventKinds.groups)
    refuse(field, "\"\(text)\" is no kind of event, and no beginning of one\(hint)")
  }
}

extension ProfileRecord {
  /// The standings of the secrets that are set.
  fileprivate var secretStandings: [V1.SecretStanding] {
    let kinds: [(Factor, V1.SecretKind)] = [(.passcode, .passcode), (.gesture, .gesture)]
    return kinds.compactMap { factor, kind in
      guard let standing = secret(factor)?.standing, standing.isSet else { return nil }
      var message = V1.SecretStanding(kind: kind, failures: standing.failures)
      switch standing.lock {
      case .none: break
      case .until(let end): message.lockedUntil = V1.Timestamp(end)
      case .untilSetAnew: message.disabled = true
      }
      return message
    }
  }
}
