// BindingService: which device may speak for which profile, and with what key.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerBindings(_ methods: inout MethodTable) {
    typealias Service = V1.BindingService
    register(Service.beginBinding, in: &methods, handler: beginBinding)
    register(Service.completeBinding, in: &methods) { [self] request, exchange throws(RequestError) in
      try EnrolmentFlow.start(request, exchange, service: self)
    }
    register(Service.getBinding, in: &methods, handler: getBinding)
    register(Service.listBindings, in: &methods, handler: listBindings)
    register(Service.revokeBinding, in: &methods, handler: revokeBinding)
    register(Service.acceptDomainState, in: &methods, handler: acceptDomainState)
  }

  // MARK: BeginBinding

  @Sendable private func beginBinding(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>
  ) throws(RequestError) {
    if let passkey = request.passkey { return try beginPasskey(passkey, request, exchange) }
    let now = clock()
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    validator.deviceID(request.deviceID, of: request.profileID, "device_id")
    let authenticatedAt = validator.authenticationTime(
      request.primary, "primary", under: configuration.enrolment, at: now)
    let posture = validator.posture(request.posture)
    try validator.finish()

    guard configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now) == .fresh else {
      return denyOldLogin(request, exchange)
    }
    if let denial = configuration.enrolment.preflight(posture: posture) {
      return deny(request, exchange, denial.reason.rawValue) {
        exchange.answer(
          V1.BeginBindingResponse(
            denial: V1.Denial(denial, biometry: posture.biometryType, in: exchange.language)))
      }
    }
    ticketHolder(request.profileID, of: request.applicationID, for: exchange) { [self] records in
      let ticket = SealedTicket(
        key: newKey(expiresAt: now + configuration.enrolment.ticketLifetime),
        challenge: randomness.bytes(Self.challengeBytes), profileID: request.profileID,
        deviceID: request.deviceID, holder: SealedTicket.Holder(records))
      exchange.answer(
        V1.BeginBindingResponse(
          ticket: keys.sealer.seal(ticket, for: exchange.caller, applicationID: request.applicationID, at: now),
          challenge: ticket.challenge, signingInput: ticket.signingInput(applicationID: request.applicationID),
          expiresAt: V1.Timestamp(ticket.key.expiresAt)))
    }
  }

  func denyOldLogin(_ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>) {
    let reason = RequestError.Reason.primaryAuthenticationTooOld
    deny(request, exchange, reason) { () throws(RequestError) in
      throw .failedPrecondition(
        reason, "the person must log in again before a device is bound", .primaryAuthenticationTooOld)
    }
  }

  func ticketHolder<Response>(
    _ profileID: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (HolderRecords) -> Void
  ) {
    store.holderRecords(applicationID: applicationID, profileID: profileID, completion: exchange.then(body))
  }

  func deny(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>, _ reason: String,
    _ outcome: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    exchange.deciding { [self] round in deny(request, exchange, reason, in: round, outcome) }
  }

  /// The event names the person, who may be new. If the profile was erased since it was first read, it names none.
  ///
  /// - Parameter holder: as it was first read; `nil`: it was not yet.
  private func deny(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>, _ reason: String,
    holder: SealedTicket.Holder? = nil, in round: DecisionRound,
    _ outcome: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    // Only the event needs the records.
    guard !leavesOut(denial(of: request, reason, naming: nil, by: exchange.caller), for: exchange) else {
      return confirm(for: exchange, confirmed: outcome)
    }
    ticketHolder(request.profileID, of: request.applicationID, for: exchange) { [self] records in
      let holder = holder ?? SealedTicket.Holder(records)
      let again = round.retrying { [self] round in
        deny(request, exchange, reason, holder: holder, in: round, outcome)
      }
      let requirement = holder.isThere(in: records) ? holder.requirement(in: records) : nil
      let denial = denial(of: request, reason, naming: requirement, by: exchange.caller)
      record(denial, in: again, for: exchange, committed: outcome)
    }
  }

  /// - Parameter requirement: that the person is there; `nil`: the event names none.
  private func denial(
    of request: V1.BeginBindingRequest, _ reason: String, naming requirement: Change?, by caller: Caller
  ) -> ThrottledEvent {
    let isNamed = requirement != nil
    let event = EventDraft.binding(
      .denied, applicationID: request.applicationID, profileID: isNamed ? request.profileID : "",
      deviceID: isNamed ? request.deviceID : "", reason: reason, caller: caller, time: clock())
    return ThrottledEvent(event, about: request.profileID, on: requirement.map { [$0] } ?? [])
  }

  // MARK: GetBinding, ListBindings

  /// Another application's binding is not found, and that it was asked for is an event (R41).
  func binding<Response>(
    _ bindingID: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (BindingRecord) throws(RequestError) -> Void
  ) throws(RequestError) {
    try bindingOnDevice(bindingID, of: applicationID, for: exchange) { binding, _ throws(RequestError) in
      try body(binding)
    }
  }

  /// With the device on which its attempts count.
  func bindingOnDevice<Response>(
    _ bindingID: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (BindingRecord, DeviceRecord) throws(RequestError) -> Void
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(applicationID)
    validator.identifier(bindingID, "binding_id")
    try validator.finish()
    subject(SubjectQuery(named: .binding(bindingID), applicationID: applicationID), for: exchange) {
      [self] subject throws(RequestError) in
      if let binding = subject.binding { return try body(binding, subject.device) }
      let event = EventDraft.binding(
        .refused, applicationID: applicationID, profileID: "", deviceID: "", bindingID: bindingID,
        reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
      record(ThrottledEvent(event, about: bindingID), for: exchange) { () throws(RequestError) in
        throw .notFound("there is no such binding in this application")
      }
    }
  }

  @Sendable private func getBinding(
    _ request: V1.GetBindingRequest, _ exchange: Exchange<V1.GetBindingResponse>
  ) throws(RequestError) {
    try binding(request.bindingID, of: request.applicationID, for: exchange) { [store] binding in
      let shown = V1.Binding(binding)
      guard binding.appAttest != nil else { return exchange.answer(V1.GetBindingResponse(binding: shown)) }
      store.receipt(
        ofBinding: binding.bindingID,
        completion: exchange.then { receipt in
          var shown = shown
          shown.appAttest?.receipt = receipt
          exchange.answer(V1.GetBindingResponse(binding: shown))
        })
    }
  }

  private static let defaultPageSize = 50
  private static let maximumPageSize: UInt32 = 100

  @Sendable private func listBindings(
    _ request: V1.ListBindingsRequest, _ exchange: Exchange<V1.ListBindingsResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    if request.pageSize > Self.maximumPageSize {
      validator.refuse("page_size", "must be at most \(Self.maximumPageSize)")
    }
    // A page token is the last binding's id: it tells nothing that the page did not.
    validator.optionalIdentifier(request.pageToken, "page_token")
    try validator.finish()

    let pageSize = request.pageSize == 0 ? Self.defaultPageSize : Int(request.pageSize)
    try bindingPermits.take(for: exchange, applicationID: request.applicationID) { [store] completion in
      store.bindings(
        applicationID: request.applicationID, profileID: request.profileID, includingRevoked: request.includeRevoked,
        after: request.pageToken.isEmpty ? nil : request.pageToken, limit: pageSize + 1, completion: completion)
    } then: { records in
      let page = records.prefix(pageSize)
      let next = records.count > pageSize ? page.last?.bindingID : nil
      exchange.answer(V1.ListBindingsResponse(bindings: page.map(V1.Binding.init), nextPageToken: next ?? ""))
    }
  }

  // MARK: RevokeBinding

  @Sendable private func revokeBinding(
    _ request: V1.RevokeBindingRequest, _ exchange: Exchange<V1.RevokeBindingResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.bindingID, "binding_id")
    validator.reason(request.reason)
    try validator.finish()
    exchange.deciding { [self] round throws(RequestError) in try revoke(request, exchange, in: round) }
  }

  /// Idempotent: a binding that is revoked already stays so, without another event.
  private func revoke(
    _ request: V1.RevokeBindingRequest, _ exchange: Exchange<V1.RevokeBindingResponse>, in round: DecisionRound
  ) throws(RequestError) {
    try binding(request.bindingID, of: request.applicationID, for: exchange) { [self] binding in
      guard !binding.isRevoked else {
        return confirm(for: exchange) { exchange.answer(V1.RevokeBindingResponse()) }
      }
      let event = EventDraft.binding(
        .revoked, binding, statedReason: request.reason, caller: exchange.caller, time: clock())
      var changeSet = ChangeSet(events: [event])
      changeSet.revoke(binding)
      commit(changeSet, in: round, for: exchange) { [meters] in
        meters.bindingsRevoked.count(.requested)
        exchange.answer(V1.RevokeBindingResponse())
      }
    }
  }
}
