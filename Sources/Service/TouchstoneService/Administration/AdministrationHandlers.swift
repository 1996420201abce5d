// AdministrationService: for operators and support staff.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerAdministration(_ methods: inout MethodTable) {
    typealias Service = V1.AdministrationService
    register(Service.getProfile, in: &methods, handler: getProfile)
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
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    let entry = diagnosedPolicy(request.policy, of: request.applicationID, with: &validator)
    try validator.finish()
    try bindingPermits.take(for: exchange, applicationID: request.applicationID) { [self] completion in
      readBindings(of: request.profileID, in: request.applicationID, completion: completion)
    } then: { [self] bindings in
      profile(
        ProfileName(applicationID: request.applicationID, profileID: request.profileID), for: exchange
      ) { [self] profile throws(RequestError) in
        guard !bindings.isEmpty || profile.version > 0 else {
          return refuseUnknownProfile(request.profileID, in: request.applicationID, for: exchange)
        }
        let active = bindings.filter { !$0.isRevoked }
        let response = V1.GetProfileResponse(
          bindings: bindings.map(V1.Binding.init), secrets: profile.secretStandings,
          settings: V1.UnlockSettings(profile), postures: bindings.compactMap(V1.SeenPosture.init),
          advisories: Advisory.ofRecovery(bindings: active.map(\.standing), profile: profile.standing)
            .map(\.rawValue))
        addDevices(
          of: Self.deviceIDs(active)[...], vendor: vendor(of: request.applicationID), to: response, for: exchange
        ) { [self] response in
          var response = response
          response.diagnoses = diagnoses(of: profile, bindings, response.devices, under: entry?.policy)
          exchange.answer(response)
        }
      }
    }
  }

  func refuseUnknownProfile<Response>(_ profileID: String, in applicationID: String, for exchange: Exchange<Response>) {
    let event = EventDraft.unknownProfile(applicationID: applicationID, caller: exchange.caller, time: clock())
    record(ThrottledEvent(event, about: profileID), for: exchange) { () throws(RequestError) in
      throw .notFound("nothing is known of this profile in this application")
    }
  }

  /// Reads the active bindings, then some revoked ones.
  func readBindings(
    of profileID: String, in applicationID: String, completion: @escaping StorePermits.Completion<[BindingRecord]>
  ) {
    // The maximum of active bindings (R29), and the revoked ones.
    let limit = configuration.enrolment.maximumBindingsPerProfile + Self.revokedBindingLimit
    @Sendable func read(includingRevoked: Bool, completion: @escaping StorePermits.Completion<[BindingRecord]>) {
      store.bindings(
        applicationID: applicationID, profileID: profileID, includingRevoked: includingRevoked,
        after: nil, limit: limit, completion: completion)
    }
    read(includingRevoked: false) { result in
      guard case .success(let active) = result else { return completion(result) }
      read(includingRevoked: true) { result in
        completion(
          result.map { all in
            let revoked = all.filter(\.isRevoked).prefix(Self.revokedBindingLimit)
            // A binding that was revoked since the first read is in both lists.
            return active.filter { binding in
              !revoked.contains { Identifier.areEqual($0.bindingID, binding.bindingID) }
            } + revoked
          })
      }
    }
  }

  /// Lists each id once, compared by bytes: a `Set` of texts takes two spellings of "é" for one.
  private static func deviceIDs(_ bindings: [BindingRecord]) -> [String] {
    var ids: [String] = []
    for binding in bindings where !ids.contains(where: { Identifier.areEqual($0, binding.deviceID) }) {
      ids.append(binding.deviceID)
    }
    return ids
  }

  private func addDevices(
    of deviceIDs: ArraySlice<String>, vendor: Vendor, to response: V1.GetProfileResponse,
    for exchange: Exchange<V1.GetProfileResponse>, then body: @escaping @Sendable (V1.GetProfileResponse) -> Void
  ) {
    guard let deviceID = deviceIDs.first else { return body(response) }
    store.device(
      id: deviceID, vendor: vendor,
      completion: exchange.then { [self] device in
        var response = response
        response.devices.append(
          V1.DeviceStanding(
            deviceID: device.deviceID, biometryFailures: device.biometry.consecutiveFailures,
            biometryLockedOut: device.biometry.isLockedOut))
        addDevices(of: deviceIDs.dropFirst(), vendor: vendor, to: response, for: exchange, then: body)
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
    exchange.deciding { [self] round in unlock(request, exchange, in: round) }
  }

  /// Unlocks only a device that is bound in this application, because all applications of a vendor share its count
  /// (R8).
  private func unlock(
    _ request: V1.UnlockDeviceRequest, _ exchange: Exchange<V1.UnlockDeviceResponse>, in round: DecisionRound
  ) {
    store.activeBinding(
      applicationID: request.applicationID, deviceID: request.deviceID,
      completion: exchange.then { [self] binding throws(RequestError) in
        guard let binding else {
          let event = EventDraft.device(
            .refused, request.deviceID, applicationID: request.applicationID, profileID: "",
            reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
          return record(ThrottledEvent(event, about: request.deviceID), for: exchange) { () throws(RequestError) in
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
              statedReason: request.reason, caller: exchange.caller, time: clock())
            commit(
              ChangeSet(
                changes: [.requireBinding(id: binding.bindingID, version: binding.version), .putDevice(unlocked)],
                events: [event]), in: round, for: exchange
            ) { exchange.answer(V1.UnlockDeviceResponse()) }
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
    exchange.deciding { [self] round in unlock(kind, request, exchange, in: round) }
  }

  /// Ends a lock before its time. A disabled secret stays disabled until it is set anew (R13), because an operator
  /// cannot tell the owner from an attacker.
  private func unlock(
    _ kind: Factor, _ request: V1.UnlockSecretRequest, _ exchange: Exchange<V1.UnlockSecretResponse>,
    in round: DecisionRound
  ) {
    let name = ProfileName(applicationID: request.applicationID, profileID: request.profileID)
    profile(name, for: exchange) { [self] profile in
      let now = clock()
      func refuse(_ error: RequestError, reason: String) {
        let event = EventDraft.secret(
          .refused, kind, profile.eventName, reason: reason, caller: exchange.caller, time: now)
        record(
          ThrottledEvent(event, about: name.profileID, on: [.require(profile)]), in: round, for: exchange
        ) { () throws(RequestError) in throw error }
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
        .unlocked, kind, name, statedReason: request.reason, caller: exchange.caller, time: now)
      commit(ChangeSet(changes: [.putProfile(unlocked)], events: [event]), in: round, for: exchange) {
        exchange.answer(V1.UnlockSecretResponse())
      }
    }
  }

  // MARK: EraseProfile

  /// Also erases a profile without a record, because events may name it.
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
    let caller = exchange.caller.identity
    try erasurePermits.take(for: exchange, applicationID: request.applicationID) { [store, clock] completion in
      let erasure = ProfileErasure(
        applicationID: request.applicationID, profileID: request.profileID, time: clock(), caller: caller,
        reason: request.reason)
      store.commit(ChangeSet(changes: [.eraseProfile(erasure)])) { result in
        switch result {
        // Read after the erasure, so that the answer covers every event that was archived before it.
        case .success: store.eventChainStart(completion: completion)
        case .failure(let error): completion(.failure(error))
        }
      }
    } then: { (start: EventChain.Head) in
      exchange.logDecision("profile.erased", in: request.applicationID)
      exchange.answer(V1.EraseProfileResponse(archivedThrough: start.sequence))
    }
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
    // A page token is the number of the last event that was read, so it reveals only how many events there are.
    let position = request.pageToken.isEmpty ? request.afterSequence : UInt64(request.pageToken)
    if position == nil { validator.refuse("page_token", "is not one of this method") }
    try validator.finish()
    let limit = request.pageSize == 0 ? Self.defaultEventCount : Int(request.pageSize)
    try EventList(filter, limit: limit, for: exchange, store: store, permits: eventPermits).answer(after: position ?? 0)
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
      try access.stillAdmits(exchange, about: request.filter?.applicationID ?? "")
    }
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
