// CompleteBinding, step by step: open the ticket, verify possession of the keys, decide, commit.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// One binding on its way. Every step runs on the call's shard.
struct EnrolmentFlow: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<V1.CompleteBindingResponse>
  let request: V1.CompleteBindingRequest
  let ticket: SealedTicket
  let posture: DevicePosture
  let keys: [OfferedKey]

  struct OfferedKey: Sendable {
    var publicKey: P256PublicKey
    var protection: KeyProtection
    var signature: [UInt8]
  }

  private static let ticketBytes = 1...2_048
  private static let deviceNameBytes = 0...128
  /// One for biometrics, one for the device owner.
  private static let maximumKeys = 2

  // MARK: Open

  static func start(
    _ request: V1.CompleteBindingRequest, _ exchange: Exchange<V1.CompleteBindingResponse>,
    service: TouchstoneService
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.identifier(request.applicationID, "application_id")
    validator.opaque(request.ticket, "ticket", count: ticketBytes)
    validator.text(request.deviceName, "device_name", bytes: deviceNameBytes)
    let posture = validator.posture(request.posture)
    let keys = offeredKeys(request, &validator)
    try validator.finish()
    guard !keys.isEmpty else {
      throw RequestError(code: .unimplemented, message: "profile_touch_id: is not served by this version")
    }
    guard
      let ticket = service.sealer.openTicket(
        request.ticket, for: exchange.caller, applicationID: request.applicationID),
      service.clock() < ticket.key.expiresAt
    else {
      return refuse(
        RequestError.Reason.ticketInvalid, ticketInvalidMessage, applicationID: request.applicationID, ticket: nil,
        exchange,
        service: service)
    }
    let flow = EnrolmentFlow(
      service: service, exchange: exchange, request: request, ticket: ticket, posture: posture, keys: keys)
    // What held when the ticket was given may not hold now; and a device that is locked has no baseline to give (R24).
    if let denial = service.configuration.enrolment.preflight(posture: posture) {
      return flow.refuse(denial.reason.rawValue, "the device cannot be bound now")
    }
    flow.verifyPossession()
  }

  private static func offeredKeys(
    _ request: V1.CompleteBindingRequest, _ validator: inout RequestValidator
  ) -> [OfferedKey] {
    guard request.profileTouchID == nil || request.keys.isEmpty else {
      validator.refuse("profile_touch_id", "is taken instead of keys, not beside them")
      return []
    }
    guard request.profileTouchID != nil || (1...maximumKeys).contains(request.keys.count) else {
      validator.refuse("keys", "must be one or two, are \(request.keys.count)")
      return []
    }
    let keys = request.keys.enumerated().compactMap { offeredKey($1, "keys[\($0)]", &validator) }
    if keys.count == maximumKeys {
      if keys[0].protection.factor == keys[1].protection.factor {
        validator.refuse("keys[1].protection", "serves the same factor as keys[0]")
      }
      if keys[0].publicKey.x963 == keys[1].publicKey.x963 {
        validator.refuse("keys[1].public_key", "is the same key as keys[0]")
      }
    }
    return keys
  }

  private static func offeredKey(
    _ key: V1.HardwareKey, _ field: String, _ validator: inout RequestValidator
  ) -> OfferedKey? {
    validator.opaque(key.signature, "\(field).signature", count: RequestValidator.signatureBytes)
    let protection = KeyProtection(key.protection)
    if protection == nil { validator.refuse("\(field).protection", "is required") }
    do throws(CryptoError) {
      let publicKey = try P256PublicKey(bytes: key.publicKey)
      return protection.map { OfferedKey(publicKey: publicKey, protection: $0, signature: key.signature) }
    } catch {
      validator.refuse("\(field).public_key", error.message)
      return nil
    }
  }

  // MARK: Refuse

  /// One answer for unknown, tampered, expired, used and another caller's or application's ticket.
  private static let ticketInvalidMessage = "the ticket is not valid, has expired or was used"

  private static func refuse(
    _ reason: String, _ message: String, applicationID: String, ticket: SealedTicket?,
    _ exchange: Exchange<V1.CompleteBindingResponse>, service: TouchstoneService
  ) {
    let event = EventDraft.binding(
      .refused, applicationID: applicationID, profileID: ticket?.profileID ?? "", deviceID: ticket?.deviceID ?? "",
      reason: reason, caller: exchange.caller, time: service.clock())
    service.record(event, for: exchange) { () throws(RequestError) in throw .failedPrecondition(reason, message) }
  }

  private func refuse(_ reason: String, _ message: String) {
    Self.refuse(
      reason, message, applicationID: request.applicationID, ticket: ticket, exchange, service: service)
  }

  // MARK: Verify possession

  private func verifyPossession(from index: Int = 0) {
    guard index < keys.count else { return read(round: 0) }
    let check = SignatureCheck(
      publicKey: keys[index].publicKey, signature: keys[index].signature,
      message: ticket.signingInput(applicationID: request.applicationID))
    exchange.context.verifications.add(check) { isValid in
      guard !isValid else { return verifyPossession(from: index + 1) }
      let event = EventDraft.binding(
        .refused, applicationID: request.applicationID, profileID: ticket.profileID, deviceID: ticket.deviceID,
        reason: RequestError.Reason.possessionNotProven, caller: exchange.caller, time: service.clock())
      service.record(event, for: exchange) { () throws(RequestError) in
        throw .invalidArgument(field: "keys[\(index)].signature", "does not verify over the ticket's signing_input")
      }
    }
  }

  // MARK: Decide and commit

  private func read(round: Int) {
    service.store.enrolmentRecords(
      applicationID: request.applicationID, profileID: ticket.profileID, deviceID: ticket.deviceID,
      ticket: ticket.key, completion: exchange.then { records in decide(records, round: round) })
  }

  private func decide(_ records: EnrolmentRecords, round: Int) {
    // Asked again in each round: verifying and conflicts take time.
    guard !records.isTicketUsed, service.clock() < ticket.key.expiresAt else {
      return refuse(RequestError.Reason.ticketInvalid, Self.ticketInvalidMessage)
    }
    let decision = service.configuration.enrolment.decide(
      EnrolmentFacts(
        profileID: ticket.profileID, deviceProfileID: records.deviceBinding?.profileID,
        activeBindingCount: records.activeBindingCount, replaceExisting: request.replaceExisting))
    switch decision {
    case .bind:
      bind(records, round: round)
    case .refuse(.deviceSpeaksForAnotherProfile):
      refuse(
        RequestError.Reason.deviceBoundToAnotherProfile,
        "the device speaks for another profile; replace_existing replaces it")
    case .refuse(.tooManyBindings):
      refuse(RequestError.Reason.tooManyBindings, "the profile has as many devices as it may have; revoke one first")
    }
  }

  /// Uses the ticket, revokes what the device was bound to before, and binds it, all in one transaction.
  private func bind(_ records: EnrolmentRecords, round: Int) {
    let now = service.clock()
    let binding = BindingRecord(
      bindingID: Base64URL.encode(service.randomness.uniqueID().bytes), applicationID: request.applicationID,
      profileID: ticket.profileID, deviceID: ticket.deviceID, deviceName: request.deviceName,
      biometryType: posture.biometryType,
      credential: .hardwareKeys(
        keys.map { HardwareKeyRecord(publicKey: $0.publicKey.x963, protection: $0.protection) }),
      isRevoked: false, baseline: .recorded(from: posture), createdAt: now, lastUsedAt: nil, version: 0)
    var changeSet = ChangeSet(changes: [.useTicket(ticket.key), .putProfile(records.profile)])
    if var replaced = records.deviceBinding {
      replaced.isRevoked = true
      changeSet.changes.append(.putBinding(replaced))
      changeSet.events.append(.binding(.revoked, replaced, reason: "REPLACED", caller: exchange.caller, time: now))
    }
    changeSet.changes.append(.putBinding(binding))
    changeSet.events.append(.binding(.created, binding, caller: exchange.caller, time: now))
    service.commit(
      changeSet, round: round, for: exchange,
      conflicted: { read(round: round + 1) },
      committed: { exchange.answer(V1.CompleteBindingResponse(binding: V1.Binding(binding))) })
  }
}
