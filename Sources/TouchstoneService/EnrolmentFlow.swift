// CompleteBinding, step by step: open the ticket, verify possession of the keys, decide, commit.
//
// A ProfileTouchID has no key to prove possession of: whoever shows it later is taken for its device (R30).

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
  let credential: OfferedCredential

  enum OfferedCredential: Sendable {
    /// One or two.
    case keys([OfferedKey])
    case profileTouchID([UInt8])

    var keys: [OfferedKey] {
      if case .keys(let keys) = self { keys } else { [] }
    }
  }

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
    validator.application(request.applicationID)
    validator.opaque(request.ticket, "ticket", count: ticketBytes)
    validator.text(request.deviceName, "device_name", bytes: deviceNameBytes)
    let posture = validator.posture(request.posture)
    let credential = offeredCredential(request, &validator)
    try validator.finish()
    guard
      let ticket = service.keys.sealer.openTicket(
        request.ticket, for: exchange.caller, applicationID: request.applicationID),
      service.clock() < ticket.key.expiresAt
    else {
      return refuse(
        .ticketInvalid, applicationID: request.applicationID, ticket: nil, exchange, service: service)
    }
    let flow = EnrolmentFlow(
      service: service, exchange: exchange, request: request, ticket: ticket, posture: posture, credential: credential)
    // What held when the ticket was given may not hold now; and a device that is locked has no baseline to give (R24).
    if let denial = service.configuration.enrolment.preflight(posture: posture) {
      return flow.refuse(
        .failedPrecondition(denial, "the device cannot be bound now", biometry: posture.biometryType))
    }
    switch credential {
    case .keys: flow.verifyPossession()
    case .profileTouchID(let value): flow.requireUnguessable(value)
    }
  }

  private static func offeredCredential(
    _ request: V1.CompleteBindingRequest, _ validator: inout RequestValidator
  ) -> OfferedCredential {
    guard let profileTouchID = request.profileTouchID else {
      return .keys(offeredKeys(request, &validator))
    }
    if !request.keys.isEmpty { validator.refuse("profile_touch_id", "is taken instead of keys, not beside them") }
    validator.opaque(profileTouchID.value, profileTouchIDField, count: ProfileTouchID.lengths)
    return .profileTouchID(profileTouchID.value)
  }

  private static func offeredKeys(
    _ request: V1.CompleteBindingRequest, _ validator: inout RequestValidator
  ) -> [OfferedKey] {
    guard (1...maximumKeys).contains(request.keys.count) else {
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

  /// - Parameter reason: for the event, where the caller is not told as much.
  private static func refuse(
    _ error: RequestError, reason: String? = nil, applicationID: String, ticket: SealedTicket?,
    _ exchange: Exchange<V1.CompleteBindingResponse>, service: TouchstoneService
  ) {
    let event = EventDraft.binding(
      .refused, applicationID: applicationID, profileID: ticket?.profileID ?? "", deviceID: ticket?.deviceID ?? "",
      reason: reason ?? error.reason, caller: exchange.caller, time: service.clock())
    service.record(event, for: exchange) { () throws(RequestError) in throw error }
  }

  private func refuse(_ error: RequestError, reason: String? = nil) {
    Self.refuse(
      error, reason: reason, applicationID: request.applicationID, ticket: ticket, exchange, service: service)
  }

  // MARK: Verify the credential

  private func verifyPossession(from index: Int = 0) {
    guard index < credential.keys.count else { return read(round: 0) }
    let key = credential.keys[index]
    let check = SignatureCheck(
      publicKey: key.publicKey, signature: key.signature,
      message: ticket.signingInput(applicationID: request.applicationID))
    exchange.context.verifications.add(check) { isValid in
      guard !isValid else { return verifyPossession(from: index + 1) }
      refuse(
        .invalidArgument(field: "keys[\(index)].signature", "does not verify over the ticket's signing_input"),
        reason: RequestError.Reason.possessionNotProven)
    }
  }

  private static let profileTouchIDField = "profile_touch_id.value"

  private func requireUnguessable(_ value: [UInt8]) {
    let violation = ProfileTouchID.violation(in: value, profileID: ticket.profileID, deviceID: ticket.deviceID)
    guard violation == nil else { return refuseProfileTouchID(RequestError.Reason.profileTouchIDGuessable) }
    read(round: 0)
  }

  /// One answer for what is guessable and what somebody has already, so that nobody learns of another's by trying (R30).
  private func refuseProfileTouchID(_ reason: String) {
    var error = RequestError.invalidArgument(
      field: Self.profileTouchIDField, "is not unpredictable; let the device make another")
    error.personText = .refusal(.deviceNotSetUp)
    refuse(error, reason: reason)
  }

  // MARK: Decide and commit

  private func read(round: Int) {
    service.store.enrolmentRecords(
      applicationID: request.applicationID, profileID: ticket.profileID, deviceID: ticket.deviceID,
      vendor: service.vendor(of: request.applicationID), ticket: ticket.key,
      completion: exchange.then { records in
        guard let digest = profileTouchIDDigest else { return decide(records, holder: nil, round: round) }
        service.store.attemptRecords(
          for: .profileTouchID(applicationID: request.applicationID, digest: digest),
          vendor: service.vendor(of: request.applicationID), evaluation: nil,
          completion: exchange.then { found in decide(records, holder: found.binding, round: round) })
      })
  }

  private var profileTouchIDDigest: [UInt8]? {
    guard case .profileTouchID(let value) = credential else { return nil }
    return service.pepper.digest(ofProfileTouchID: value)
  }

  /// - Parameter holder: the active binding that has the ProfileTouchID already.
  private func decide(_ records: EnrolmentRecords, holder: BindingRecord?, round: Int) {
    // Asked again in each round: verifying and conflicts take time.
    guard !records.isTicketUsed, service.clock() < ticket.key.expiresAt else { return refuse(.ticketInvalid) }
    let decision = service.configuration.enrolment.decide(
      EnrolmentFacts(
        profileID: ticket.profileID, deviceProfileID: records.deviceBinding?.profileID,
        activeBindingCount: records.activeBindingCount, replaceExisting: request.replaceExisting, lock: records.lock,
        isSignedByDevice: !credential.keys.isEmpty))
    switch decision {
    case .bind(let revokesExisting, let endsLockout):
      // This device may keep its own: the binding that held it goes.
      if let holder, !Identifier.areEqual(holder.bindingID, records.deviceBinding?.bindingID ?? "") {
        return refuseProfileTouchID(RequestError.Reason.profileTouchIDInUse)
      }
      bind(
        records, replacing: revokesExisting ? records.deviceBinding : nil, endingLockout: endsLockout, round: round)
    case .refuse(.deviceSpeaksForAnotherProfile):
      refuse(
        .failedPrecondition(
          RequestError.Reason.deviceBoundToAnotherProfile,
          "the device speaks for another profile; replace_existing replaces it", .deviceBoundToAnotherProfile))
    case .refuse(.tooManyBindings):
      refuse(
        .failedPrecondition(
          RequestError.Reason.tooManyBindings, "the profile has as many devices as it may have; revoke one first",
          .tooManyBindings))
    }
  }

  /// Uses the ticket, revokes what the device was bound to before, and binds it, all in one transaction.
  private func bind(
    _ records: EnrolmentRecords, replacing existing: BindingRecord?, endingLockout: Bool, round: Int
  ) {
    let now = service.clock()
    let binding = BindingRecord(
      bindingID: Base64URL.encode(service.randomness.uniqueID().bytes), applicationID: request.applicationID,
      profileID: ticket.profileID, deviceID: ticket.deviceID, deviceName: request.deviceName,
      biometryType: posture.biometryType,
      credential: credentialRecord,
      isRevoked: false, baseline: .recorded(from: posture), platformFamily: posture.platform.family,
      deviceLockCount: records.device.lockCount(inRound: round), createdAt: now, lastUsedAt: nil,
      lastSeen: SeenPosture(
        posture, deviceModel: request.posture?.deviceModel ?? "", seenAt: now,
        isProven: !credential.keys.isEmpty), version: 0)
    var changeSet = ChangeSet(changes: [.useTicket(ticket.key), .putProfile(records.profile.written(at: now))])
    if let existing {
      changeSet.revoke(existing, on: records.device, round: round)
      changeSet.events.append(.binding(.revoked, existing, reason: "REPLACED", caller: exchange.caller, time: now))
    }
    changeSet.changes.append(.putBinding(binding))
    changeSet.events.append(.binding(.created, binding, caller: exchange.caller, time: now))
    if endingLockout {
      var device = records.device
      device.settle(BiometryStanding())
      changeSet.changes.append(.putDevice(device))
      changeSet.events.append(
        .device(
          .unlocked, device.deviceID, applicationID: request.applicationID, profileID: ticket.profileID,
          reason: "BOUND_ANEW", caller: exchange.caller, time: now))
    } else if existing == nil {
      changeSet.compare(records.device, round: round)
    }
    let advisories = Advisory.ofRecovery(bindings: [binding.standing], profile: records.profile.standing)
    service.commit(
      changeSet, round: round, for: exchange,
      conflicted: { read(round: round + 1) },
      committed: {
        exchange.answer(
          V1.CompleteBindingResponse(binding: V1.Binding(binding), advisories: advisories.map(\.rawValue)))
      })
  }
  private var credentialRecord: CredentialRecord {
    if let digest = profileTouchIDDigest { return .profileTouchID(digest: digest) }
    return .hardwareKeys(
      credential.keys.map { HardwareKeyRecord(publicKey: $0.publicKey.x963, protection: $0.protection) })
  }
}

extension EnrolmentRecords {
  fileprivate var lock: EnrolmentFacts.Lock {
    guard device.biometry.isLockedOut else { return .none }
    guard let deviceBinding, deviceBinding.deviceLockCount < device.lockCount else { return .beforeExistingBinding }
    return .afterExistingBinding
  }
}

extension RequestError {
  /// One answer for unknown, tampered, expired, used and another caller's or application's ticket.
  fileprivate static let ticketInvalid = RequestError.failedPrecondition(
    Reason.ticketInvalid, "the ticket is not valid, has expired or was used", .requestEnded)
}
