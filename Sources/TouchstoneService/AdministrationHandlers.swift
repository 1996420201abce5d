// AdministrationService: for operators and support staff.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  private static let administrationService = "/touchstone.v1.AdministrationService"

  func registerAdministration(_ methods: inout MethodTable) {
    let service = Self.administrationService
    register("\(service)/GetProfile", in: &methods, handler: getProfile)
    register("\(service)/UnlockDevice", in: &methods, handler: unlockDevice)
    register("\(service)/ListEvents", in: &methods, handler: listEvents)
    register("\(service)/UnlockSecret", in: &methods, handler: unlockSecret)
    register("\(service)/EraseProfile", in: &methods, handler: eraseProfile)
    registerServerStreaming("\(service)/WatchEvents", in: &methods, handler: watchEvents)
    register("\(service)/ExplainEvaluation", in: &methods, handler: explainEvaluation)
  }

  // MARK: GetProfile

  /// How many revoked bindings are shown beside the active ones.
  private static let revokedBindingLimit = 100

  @Sendable private func getProfile(
    _ request: V1.GetProfileRequest, _ exchange: Exchange<V1.GetProfileResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    try validator.finish()
    bindings(of: request, includingRevoked: false, for: exchange) { [self] active in
      bindings(of: request, includingRevoked: true, for: exchange) { [self] all in
        let bindings = active + all.filter(\.isRevoked).prefix(Self.revokedBindingLimit)
        profile(
          ProfileName(applicationID: request.applicationID, profileID: request.profileID), for: exchange
        ) { [self] profile throws(RequestError) in
          guard !bindings.isEmpty || profile.version > 0 else {
            let event = EventDraft.unknownProfile(
              applicationID: request.applicationID, caller: exchange.caller, time: clock())
            return record(event, for: exchange) { () throws(RequestError) in throw .unknownProfile }
          }
          let response = V1.GetProfileResponse(
            bindings: bindings.map(V1.Binding.init), secrets: profile.secretStandings,
            settings: V1.UnlockSettings(profile), postures: bindings.compactMap(V1.SeenPosture.init),
            advisories: Advisory.ofRecovery(bindings: active.map(\.standing), profile: profile.standing)
              .map(\.rawValue))
          addDevices(
            of: Self.deviceIDs(active)[...], vendor: vendor(of: request.applicationID), to: response, for: exchange)
        }
      }
    }
  }

  private func bindings(
    of request: V1.GetProfileRequest, includingRevoked: Bool, for exchange: Exchange<V1.GetProfileResponse>,
    then body: @escaping @Sendable ([BindingRecord]) throws(RequestError) -> Void
  ) {
    // As many as there may be active (R29), and the revoked ones.
    let limit = configuration.enrolment.maximumBindingsPerProfile + Self.revokedBindingLimit
    store.bindings(
      applicationID: request.applicationID, profileID: request.profileID, includingRevoked: includingRevoked,
      after: nil, limit: limit, completion: exchange.then(body))
  }

  /// Each once, by bytes: to a `Set` of texts, two spellings of "é" are one.
  private static func deviceIDs(_ bindings: [BindingRecord]) -> [String] {
    var ids: [String] = []
    for binding in bindings where !ids.contains(where: { Identifier.areEqual($0, binding.deviceID) }) {
      ids.append(binding.deviceID)
    }
    return ids
  }

  private func addDevices(
    of deviceIDs: ArraySlice<String>, vendor: Vendor, to response: V1.GetProfileResponse,
    for exchange: Exchange<V1.GetProfileResponse>
  ) {
    guard let deviceID = deviceIDs.first else { return exchange.answer(response) }
    store.device(
      id: deviceID, vendor: vendor,
      completion: exchange.then { [self] device in
        var response = response
        response.devices.append(
          V1.DeviceStanding(
            deviceID: device.deviceID, biometryFailures: device.biometry.consecutiveFailures,
            biometryLockedOut: device.biometry.isLockedOut))
        addDevices(of: deviceIDs.dropFirst(), vendor: vendor, to: response, for: exchange)
      })
  }

  // MARK: UnlockDevice

  @Sendable private func unlockDevice(
    _ request: V1.UnlockDeviceRequest, _ exchange: Exchange<V1.UnlockDeviceResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.deviceID, "device_id")
    validator.reason(request.reason)
    try validator.finish()
    unlock(request, exchange, round: 0)
  }

  /// Only a device that speaks for somebody in this application, since its count is shared by all of its vendor (R8).
  private func unlock(
    _ request: V1.UnlockDeviceRequest, _ exchange: Exchange<V1.UnlockDeviceResponse>, round: Int
  ) {
    store.activeBinding(
      applicationID: request.applicationID, deviceID: request.deviceID,
      completion: exchange.then { [self] binding throws(RequestError) in
        guard let binding else {
          let event = EventDraft.device(
            .refused, request.deviceID, applicationID: request.applicationID, profileID: "",
            reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
          return record(event, for: exchange) { () throws(RequestError) in
            throw .notFound("no binding of this application is on this device")
          }
        }
        store.device(
          id: request.deviceID, vendor: vendor(of: request.applicationID),
          completion: exchange.then { [self] device in
            guard device.biometry != BiometryStanding() else {
              return confirm(for: exchange) { exchange.answer(V1.UnlockDeviceResponse()) }
            }
            var unlocked = device
            unlocked.biometry = BiometryStanding()
            let event = EventDraft.device(
              .unlocked, request.deviceID, applicationID: request.applicationID, profileID: binding.profileID,
              reason: request.reason, caller: exchange.caller, time: clock())
            commit(
              ChangeSet(changes: [.putDevice(unlocked)], events: [event]), round: round, for: exchange,
              conflicted: { [self] in unlock(request, exchange, round: round + 1) },
              committed: { exchange.answer(V1.UnlockDeviceResponse()) })
          })
      })
  }

  // MARK: UnlockSecret

  @Sendable private func unlockSecret(
    _ request: V1.UnlockSecretRequest, _ exchange: Exchange<V1.UnlockSecretResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    let kind = validator.secretKind(request.kind, "kind")
    validator.reason(request.reason)
    try validator.finish()
    unlock(kind, request, exchange, round: 0)
  }

  /// Ends a lock before its time. One that is disabled stays so until it is set anew (R13): an operator cannot know who
  /// guessed.
  private func unlock(
    _ kind: Factor, _ request: V1.UnlockSecretRequest, _ exchange: Exchange<V1.UnlockSecretResponse>, round: Int
  ) {
    let name = ProfileName(applicationID: request.applicationID, profileID: request.profileID)
    profile(name, for: exchange) { [self] profile in
      let now = clock()
      func refuse(_ error: RequestError, reason: String) {
        let event = EventDraft.secret(.refused, kind, name, reason: reason, caller: exchange.caller, time: now)
        record(event, for: exchange) { () throws(RequestError) in throw error }
      }
      guard let secret = profile.secret(kind), secret.standing.isSet else {
        return refuse(.notFound("the profile has no such secret"), reason: RequestError.Reason.notFound)
      }
      let state = SecretRules(ladder: policies.ladder(for: kind)).state(of: secret.standing, at: now)
      guard state != .disabled, secret.standing.lock != .untilSetAnew else {
        let reason: Denial.Reason = kind == .gesture ? .gestureDisabled : .passcodeDisabled
        let denial = Denial(code: .authenticationFailed, reason: reason)
        return refuse(
          .failedPrecondition(denial, "it is disabled until it is set anew", biometry: .unspecified),
          reason: reason.rawValue)
      }
      guard secret.standing.failures > 0 || secret.standing.lock != .none else {
        return confirm(for: exchange) { exchange.answer(V1.UnlockSecretResponse()) }
      }
      var unlocked = profile
      unlocked.unlockSecret(kind)
      let event = EventDraft.secret(
        .unlocked, kind, name, reason: request.reason, caller: exchange.caller, time: now)
      commit(
        ChangeSet(changes: [.putProfile(unlocked)], events: [event]), round: round, for: exchange,
        conflicted: { [self] in unlock(kind, request, exchange, round: round + 1) },
        committed: { exchange.answer(V1.UnlockSecretResponse()) })
    }
  }

  // MARK: EraseProfile

  /// Also of a profile that has no record: events may name it all the same.
  @Sendable private func eraseProfile(
    _ request: V1.EraseProfileRequest, _ exchange: Exchange<V1.EraseProfileResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    validator.reason(request.reason)
    if Identifier.isTold(request.profileID, by: request.reason) {
      validator.refuse("reason", "names the profile; its event outlives the erasure")
    }
    try validator.finish()
    let erasure = ProfileErasure(
      applicationID: request.applicationID, profileID: request.profileID, time: clock(),
      caller: exchange.caller.identity, reason: request.reason)
    store.commit(
      ChangeSet(changes: [.eraseProfile(erasure)]),
      completion: exchange.then { (_: Void) in self.answerErased(exchange) })
  }

  /// What was archived before the erasure is told after it: none of it is missed.
  private func answerErased(_ exchange: Exchange<V1.EraseProfileResponse>) {
    store.eventChainStart(
      completion: exchange.then { start in
        exchange.answer(V1.EraseProfileResponse(archivedThrough: start.sequence))
      })
  }

  // MARK: ListEvents

  private static let defaultEventCount = 100
  private static let maximumEventCount: UInt32 = 1_000
  private static let maximumKindPrefixes = 32

  @Sendable private func listEvents(
    _ request: V1.ListEventsRequest, _ exchange: Exchange<V1.ListEventsResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    let filter = Self.eventFilter(request.filter, with: &validator)
    if request.pageSize > Self.maximumEventCount {
      validator.refuse("page_size", "must be at most \(Self.maximumEventCount)")
    }
    // A page token is the number of the last event that was looked at: it tells nothing but how many there are.
    let position = request.pageToken.isEmpty ? request.afterSequence : UInt64(request.pageToken)
    if position == nil { validator.refuse("page_token", "is not one of this method") }
    try validator.finish()
    try eventLists.list(
      filter, after: position ?? 0, limit: request.pageSize == 0 ? Self.defaultEventCount : Int(request.pageSize),
      for: exchange)
  }

  private static func eventFilter(_ message: V1.EventFilter?, with validator: inout RequestValidator) -> EventFilter {
    let filter = message ?? V1.EventFilter()
    // None: whoever is granted all applications may ask for the events of all.
    validator.optionalIdentifier(filter.applicationID, "filter.application_id")
    validator.optionalIdentifier(filter.profileID, "filter.profile_id")
    if filter.applicationID.isEmpty, !filter.profileID.isEmpty {
      validator.refuse("filter.profile_id", "is one of an application: filter.application_id is required")
    }
    if filter.kinds.count > maximumKindPrefixes {
      validator.refuse("filter.kinds", "must be at most \(maximumKindPrefixes)")
    }
    for (index, kind) in filter.kinds.prefix(maximumKindPrefixes).enumerated() {
      validator.identifier(kind, "filter.kinds[\(index)]")
    }
    return EventFilter(
      applicationID: filter.applicationID, profileID: filter.profileID, kindPrefixes: filter.kinds)
  }

  // MARK: WatchEvents

  @Sendable private func watchEvents(
    _ request: V1.WatchEventsRequest, _ exchange: StreamExchange<V1.WatchEventsResponse>
  ) throws(RequestError) -> MethodTable.StreamEvents {
    var validator = RequestValidator()
    let filter = Self.eventFilter(request.filter, with: &validator)
    try validator.finish()
    return try watches.watch(filter, after: request.afterSequence, on: exchange) { [access] () throws(RequestError) in
      try access.stillAdmits(exchange, about: request)
    }
  }
}

extension ProfileRecord {
  /// Of those that are set.
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

extension RequestError {
  fileprivate static let unknownProfile = RequestError.notFound("nothing is known of this profile in this application")
}
