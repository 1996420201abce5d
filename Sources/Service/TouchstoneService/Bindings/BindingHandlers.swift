// BindingService: which device may speak for which profile, and with what key.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerBindings(_ methods: inout MethodTable) {
    typealias Service = V1.BindingService
    register(Service.beginBinding, in: &methods, handler: beginBinding)
    register(Service.completeBinding, in: &methods, handler: completeBinding)
    register(Service.getBinding, in: &methods, handler: getBinding)
    register(Service.listBindings, in: &methods, handler: listBindings)
    register(Service.revokeBinding, in: &methods, handler: revokeBinding)
    register(Service.acceptDomainState, in: &methods, handler: acceptDomainState)
  }

  // MARK: BeginBinding

  @Sendable private func beginBinding(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>
  ) async throws(RequestError) -> V1.BeginBindingResponse {
    if let passkey = request.passkey { return try await beginPasskey(passkey, request, exchange) }
    let now = clock()
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    validator.deviceID(request.deviceID, of: request.profileID, "device_id")
    let authenticatedAt = validator.authenticationTime(
      request.primary, "primary", under: configuration.enrolment, at: now)
    let posture = validator.posture(request.posture)
    try validator.finish()

    guard configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now) == .fresh else {
      try await denyOldLogin(request, exchange)
    }
    if let denial = configuration.enrolment.preflight(posture: posture) {
      try await recordDenial(of: request, denial.reason.rawValue, exchange)
      return V1.BeginBindingResponse(
        denial: V1.Denial(denial, biometry: posture.biometryType, in: exchange.language))
    }
    let records = try await ticketHolder(request.profileID, of: request.applicationID, for: exchange)
    let ticket = SealedTicket(
      key: newKey(expiresAt: now + configuration.enrolment.ticketLifetime),
      challenge: randomness.bytes(Self.challengeBytes), profileID: request.profileID,
      deviceID: request.deviceID, holder: SealedTicket.Holder(records))
    return V1.BeginBindingResponse(
      ticket: keys.sealer.seal(ticket, for: exchange.caller, applicationID: request.applicationID, at: now),
      challenge: ticket.challenge, signingInput: ticket.signingInput(applicationID: request.applicationID),
      expiresAt: V1.Timestamp(ticket.key.expiresAt))
  }

  func denyOldLogin(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>
  ) async throws(RequestError) -> Never {
    let reason = RequestError.Reason.primaryAuthenticationTooOld
    try await recordDenial(of: request, reason, exchange)
    throw .failedPrecondition(
      reason, "the person must log in again before a device is bound", .primaryAuthenticationTooOld)
  }

  func ticketHolder<Response>(
    _ profileID: String, of applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> HolderRecords {
    try await exchange.value {
      store.holderRecords(applicationID: applicationID, profileID: profileID, completion: $0)
    }
  }

  /// The event names the person, who may be new. If the profile was erased since it was first read, it names none.
  func recordDenial(
    of request: V1.BeginBindingRequest, _ reason: String, _ exchange: Exchange<V1.BeginBindingResponse>
  ) async throws(RequestError) {
    // Only the event needs the records.
    guard !leavesOut(denial(of: request, reason, naming: nil, by: exchange.caller), for: exchange) else {
      return try await confirm(for: exchange)
    }
    var holder: SealedTicket.Holder?
    for _ in DecisionRound.all {
      let records = try await ticketHolder(request.profileID, of: request.applicationID, for: exchange)
      let first = holder ?? SealedTicket.Holder(records)
      holder = first
      let requirement = first.isThere(in: records) ? first.requirement(in: records) : nil
      if try await record(denial(of: request, reason, naming: requirement, by: exchange.caller), for: exchange) {
        return
      }
    }
    throw .tooManyRounds
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

  // MARK: CompleteBinding

  @Sendable private func completeBinding(
    _ request: V1.CompleteBindingRequest, _ exchange: Exchange<V1.CompleteBindingResponse>
  ) async throws(RequestError) -> V1.CompleteBindingResponse {
    try await EnrolmentFlow.complete(request, exchange, service: self)
  }

  // MARK: GetBinding, ListBindings

  /// Reads a binding, and the device on which its attempts count. Another application's binding is not found, and that
  /// it was asked for is an event (R41).
  func binding<Response>(
    _ bindingID: String, of applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> (BindingRecord, DeviceRecord) {
    var validator = RequestValidator()
    validator.application(applicationID)
    validator.identifier(bindingID, "binding_id")
    try validator.finish()
    let query = SubjectQuery(named: .binding(bindingID), applicationID: applicationID)
    let subject = try await subject(query, for: exchange)
    if let binding = subject.binding { return (binding, subject.device) }
    let event = EventDraft.binding(
      .refused, applicationID: applicationID, profileID: "", deviceID: "", bindingID: bindingID,
      reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
    try await refuse(
      .notFound("there is no such binding in this application"), recording: ThrottledEvent(event, about: bindingID),
      for: exchange)
    throw .tooManyRounds
  }

  /// Refuses what a caller wants of a binding. Returns if the binding changed since it was read.
  ///
  /// - Parameter reason: for the event; `nil`: the error's.
  func refuse<Response>(
    _ error: RequestError, because reason: String? = nil, _ binding: BindingRecord, _ exchange: Exchange<Response>
  ) async throws(RequestError) {
    let event = EventDraft.binding(
      .refused, binding, reason: reason ?? error.reason, caller: exchange.caller, time: clock())
    let refusal = ThrottledEvent(event, about: binding.bindingID, on: [.require(binding)])
    try await refuse(error, recording: refusal, for: exchange)
  }

  @Sendable private func getBinding(
    _ request: V1.GetBindingRequest, _ exchange: Exchange<V1.GetBindingResponse>
  ) async throws(RequestError) -> V1.GetBindingResponse {
    let (binding, _) = try await binding(request.bindingID, of: request.applicationID, for: exchange)
    var shown = V1.Binding(binding)
    if binding.appAttest != nil {
      shown.appAttest?.receipt = try await exchange.value {
        store.receipt(ofBinding: binding.bindingID, completion: $0)
      }
    }
    return V1.GetBindingResponse(binding: shown)
  }

  private static let defaultPageSize = 50
  private static let maximumPageSize: UInt32 = 100

  @Sendable private func listBindings(
    _ request: V1.ListBindingsRequest, _ exchange: Exchange<V1.ListBindingsResponse>
  ) async throws(RequestError) -> V1.ListBindingsResponse {
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    if request.pageSize > Self.maximumPageSize {
      validator.refuse("page_size", "must be at most \(Self.maximumPageSize)")
    }
    // A page token is the last binding's id: it tells nothing that the page did not.
    validator.optionalIdentifier(request.pageToken, "page_token")
    try validator.finish()

    let pageSize = request.pageSize == 0 ? Self.defaultPageSize : Int(request.pageSize)
    let permit = try await bindingPermits.permit(for: exchange, applicationID: request.applicationID)
    let records = try await bindings(
      of: ProfileName(request.applicationID, request.profileID), includingRevoked: request.includeRevoked,
      after: request.pageToken.isEmpty ? nil : request.pageToken, limit: pageSize + 1,
      ending: permit, for: exchange)
    let page = records.prefix(pageSize)
    let next = records.count > pageSize ? page.last?.bindingID : nil
    return V1.ListBindingsResponse(bindings: page.map(V1.Binding.init), nextPageToken: next ?? "")
  }

  /// Call it with a permit of `bindingPermits`.
  ///
  /// - Parameter permit: `nil`: it serves for another read.
  func bindings<Response>(
    of name: ProfileName, includingRevoked: Bool, after bindingID: String? = nil, limit: Int,
    ending permit: StorePermit?, for exchange: Exchange<Response>
  ) async throws(RequestError) -> [BindingRecord] {
    try await exchange.value(ending: permit) {
      store.bindings(
        applicationID: name.applicationID, profileID: name.profileID, includingRevoked: includingRevoked,
        after: bindingID, limit: limit, completion: $0)
    }
  }

  // MARK: RevokeBinding

  /// Idempotent: a binding that is revoked already stays so, without another event.
  @Sendable private func revokeBinding(
    _ request: V1.RevokeBindingRequest, _ exchange: Exchange<V1.RevokeBindingResponse>
  ) async throws(RequestError) -> V1.RevokeBindingResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.bindingID, "binding_id")
    validator.reason(request.reason)
    try validator.finish()
    for _ in DecisionRound.all {
      let (binding, _) = try await binding(request.bindingID, of: request.applicationID, for: exchange)
      guard !binding.isRevoked else {
        try await confirm(for: exchange)
        return V1.RevokeBindingResponse()
      }
      let event = EventDraft.binding(
        .revoked, binding, statedReason: request.reason, caller: exchange.caller, time: clock())
      var changeSet = ChangeSet(events: [event])
      changeSet.revoke(binding)
      guard try await commit(changeSet, for: exchange) else { continue }
      meters.bindingsRevoked.count(.requested)
      return V1.RevokeBindingResponse()
    }
    throw .tooManyRounds
  }
}
