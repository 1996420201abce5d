// BindingService: which device may speak for which profile, and with what key.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  private static let bindingService = "/touchstone.v1.BindingService"

  func registerBindings(_ methods: inout MethodTable) {
    let service = Self.bindingService
    register("\(service)/BeginBinding", in: &methods, handler: beginBinding)
    register("\(service)/CompleteBinding", in: &methods) { [self] request, exchange throws(RequestError) in
      try EnrolmentFlow.start(request, exchange, service: self)
    }
    register("\(service)/GetBinding", in: &methods, handler: getBinding)
    register("\(service)/ListBindings", in: &methods, handler: listBindings)
    register("\(service)/RevokeBinding", in: &methods, handler: revokeBinding)
    register("\(service)/AcceptDomainState", in: &methods, handler: acceptDomainState)
  }

  // MARK: BeginBinding

  @Sendable private func beginBinding(
    _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>
  ) throws(RequestError) {
    let now = clock()
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.profileID, "profile_id")
    validator.deviceID(request.deviceID, of: request.profileID, "device_id")
    let verdict = validator.primaryVerdict(request.primary, "primary", under: configuration.enrolment, at: now)
    let posture = validator.posture(request.posture)
    try validator.finish()

    func deny(_ reason: String, _ outcome: @escaping @Sendable () throws(RequestError) -> Void) {
      let event = EventDraft.binding(
        .denied, applicationID: request.applicationID, profileID: request.profileID, deviceID: request.deviceID,
        reason: reason, caller: exchange.caller, time: now)
      record(event, for: exchange, committed: outcome)
    }
    guard verdict == .fresh else {
      let reason = RequestError.Reason.primaryAuthenticationTooOld
      return deny(reason) { () throws(RequestError) in
        throw .failedPrecondition(
          reason, "the person must log in again before a device is bound", .primaryAuthenticationTooOld)
      }
    }
    if let denial = configuration.enrolment.preflight(posture: posture) {
      return deny(denial.reason.rawValue) {
        exchange.answer(
          V1.BeginBindingResponse(
            denial: V1.Denial(denial, biometry: posture.biometryType, in: exchange.language)))
      }
    }
    let ticket = SealedTicket(
      key: newKey(expiresAt: now + configuration.enrolment.ticketLifetime),
      challenge: randomness.bytes(Self.challengeBytes), profileID: request.profileID, deviceID: request.deviceID)
    exchange.answer(
      V1.BeginBindingResponse(
        ticket: keys.sealer.seal(ticket, for: exchange.caller, applicationID: request.applicationID, at: now),
        challenge: ticket.challenge, signingInput: ticket.signingInput(applicationID: request.applicationID),
        expiresAt: V1.Timestamp(ticket.key.expiresAt)))
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
  private func bindingOnDevice<Response>(
    _ bindingID: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (BindingRecord, DeviceRecord) throws(RequestError) -> Void
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(applicationID)
    validator.identifier(bindingID, "binding_id")
    try validator.finish()
    subject(.binding(bindingID), of: applicationID, evaluation: nil, for: exchange) {
      [self] subject throws(RequestError) in
      if let binding = subject.binding { return try body(binding, subject.device) }
      let event = EventDraft.binding(
        .refused, applicationID: applicationID, profileID: "", deviceID: "", bindingID: bindingID,
        reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
      record(event, for: exchange) { () throws(RequestError) in
        throw .notFound("there is no such binding in this application")
      }
    }
  }

  @Sendable private func getBinding(
    _ request: V1.GetBindingRequest, _ exchange: Exchange<V1.GetBindingResponse>
  ) throws(RequestError) {
    try binding(request.bindingID, of: request.applicationID, for: exchange) { binding in
      exchange.answer(V1.GetBindingResponse(binding: V1.Binding(binding)))
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
    store.bindings(
      applicationID: request.applicationID, profileID: request.profileID, includingRevoked: request.includeRevoked,
      after: request.pageToken.isEmpty ? nil : request.pageToken, limit: pageSize + 1,
      completion: exchange.then { records in
        let page = records.prefix(pageSize)
        let next = records.count > pageSize ? page.last?.bindingID : nil
        exchange.answer(V1.ListBindingsResponse(bindings: page.map(V1.Binding.init), nextPageToken: next ?? ""))
      })
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
    try revoke(request, exchange, round: 0)
  }

  /// Idempotent: a binding that is revoked already stays so, without another event.
  private func revoke(
    _ request: V1.RevokeBindingRequest, _ exchange: Exchange<V1.RevokeBindingResponse>, round: Int
  ) throws(RequestError) {
    try bindingOnDevice(request.bindingID, of: request.applicationID, for: exchange) { [self] binding, device in
      guard !binding.isRevoked else {
        return confirm(for: exchange) { exchange.answer(V1.RevokeBindingResponse()) }
      }
      let event = EventDraft.binding(
        .revoked, binding, reason: request.reason, caller: exchange.caller, time: clock())
      var changeSet = ChangeSet(events: [event])
      changeSet.revoke(binding, on: device, round: round)
      commit(
        changeSet, round: round, for: exchange,
        conflicted: { [self] () throws(RequestError) in try revoke(request, exchange, round: round + 1) },
        committed: { exchange.answer(V1.RevokeBindingResponse()) })
    }
  }
}
