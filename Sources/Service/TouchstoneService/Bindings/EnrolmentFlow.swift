// CompleteBinding: open the ticket, verify possession of the keys and their attestations, decide, commit.
//
// A ProfileTouchID has no key, so nothing proves its possession. The service takes each later bearer for its device
// (R30).

internal import Synchronization
internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// One binding on its way.
struct EnrolmentFlow: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<V1.CompleteBindingResponse>
  let request: V1.CompleteBindingRequest
  let ticket: SealedTicket
  let posture: DevicePosture
  let credential: OfferedCredential
  /// `nil`: the app does not vouch for the keys.
  let appAttest: AppAttestProof?
  /// The result of each key's attestation; empty if none is attested.
  private var attestations: [KeyAttestationRecord?] = []
  /// `nil`: no App Attest key vouches for the keys.
  private var vouched: VouchedKeys?

  struct AppAttestProof: Sendable {
    var keyID: [UInt8]
    var kind: Kind
    var bytes: [UInt8]

    enum Kind: String, Sendable {
      case attestation
      /// Signed by the key that vouched for the device's present binding in the application.
      case assertion
    }

    var field: String { "app_attest.\(kind.rawValue)" }
  }

  enum OfferedCredential: Sendable {
    /// One key, or one for each factor.
    case keys([OfferedKey])
    case profileTouchID([UInt8])
    case passkey(OfferedPasskey)

    var keys: [OfferedKey] {
      if case .keys(let keys) = self { keys } else { [] }
    }
  }

  struct OfferedKey: Sendable {
    var publicKey: PhoneKey
    /// A hybrid key's (R48).
    var otherHalf: SignatureCheck.OtherHalf?
    var protection: KeyProtection
    var signature: [UInt8]
    var form: SignatureForm
    /// DER, leaf first. Empty: the key is not attested.
    var certificateChain: [[UInt8]]
  }

  private static let ticketBytes = 1...2_048
  private static let deviceNameBytes = 0...128
  /// One for biometrics, one for the device owner.
  private static let maximumKeys = 2
  private static let certificateBytes = 1...Certificate.maximumBytes
  /// A SHA-256.
  private static let appAttestKeyIDBytes = 32...32
  /// Apple's have some 6,000. A request has room for twice as much.
  private static let appAttestationBytes = 1...32_768
  private static let appAssertionBytes = 1...AppAssertion.maximumBytes

  // MARK: Open

  static func complete(
    _ request: V1.CompleteBindingRequest, _ exchange: Exchange<V1.CompleteBindingResponse>,
    service: TouchstoneService
  ) async throws(RequestError) -> V1.CompleteBindingResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.opaque(request.ticket, "ticket", count: ticketBytes)
    validator.visibleText(request.deviceName, "device_name", bytes: deviceNameBytes)
    let posture = validator.posture(request.posture, isOptional: request.passkey != nil)
    let credential = offeredCredential(request, on: posture.platform, by: service, &validator)
    let appAttest = appAttestProof(request, on: posture.platform, &validator)
    try validator.finish()
    let part = exchange.begin(.open)
    let opened = service.keys.sealer.openTicket(
      request.ticket, for: exchange.caller, applicationID: request.applicationID)
    part?.end()
    guard let ticket = opened, isInTime(ticket, service) else {
      try await refuseTicket(applicationID: request.applicationID, exchange, service: service)
    }
    var flow = EnrolmentFlow(
      service: service, exchange: exchange, request: request, ticket: ticket, posture: posture, credential: credential,
      appAttest: appAttest)
    if case .passkey(let passkey) = credential {
      guard ticket.isForPasskey else { try await flow.refuse(.ofAnotherTicket("passkey", "a device's")) }
      return try await flow.complete(passkey)
    }
    try await flow.verify()
    return try await flow.bind()
  }

  private static func isInTime(_ ticket: SealedTicket, _ service: TouchstoneService) -> Bool {
    ticket.key.isInTime(at: service.clock(), lifetime: service.configuration.enrolment.ticketLifetime)
  }

  private static func offeredCredential(
    _ request: V1.CompleteBindingRequest, on platform: Platform, by service: TouchstoneService,
    _ validator: inout RequestValidator
  ) -> OfferedCredential {
    if let passkey = request.passkey {
      if !request.keys.isEmpty || request.profileTouchID != nil {
        validator.refuse(RequestValidator.passkeyField, "is taken instead of other credentials, not beside them")
      }
      return .passkey(validator.passkey(passkey))
    }
    guard let profileTouchID = request.profileTouchID else {
      return .keys(offeredKeys(request, on: platform, by: service, &validator))
    }
    if !request.keys.isEmpty { validator.refuse("profile_touch_id", "is taken instead of keys, not beside them") }
    validator.opaque(profileTouchID.value, profileTouchIDField, count: ProfileTouchID.lengths)
    return .profileTouchID(profileTouchID.value)
  }

  private static func offeredKeys(
    _ request: V1.CompleteBindingRequest, on platform: Platform, by service: TouchstoneService,
    _ validator: inout RequestValidator
  ) -> [OfferedKey] {
    guard (1...maximumKeys).contains(request.keys.count) else {
      validator.refuse("keys", "must be one or two, are \(request.keys.count)")
      return []
    }
    let keys = request.keys.enumerated().compactMap { index, key in
      let form = validator.signatureForm(
        key.signatureForm, "keys[\(index)].signature_form", of: request.applicationID, by: service)
      return offeredKey(key, signing: form, on: platform, "keys[\(index)]", &validator)
    }
    if keys.count == maximumKeys {
      if keys[0].protection.factor == keys[1].protection.factor {
        validator.refuse("keys[1].protection", "serves the same factor as keys[0]")
      }
      if keys[0].publicKey.bytes == keys[1].publicKey.bytes {
        validator.refuse("keys[1].public_key", "is the same key as keys[0]")
      }
      switch (keys[0].otherHalf, keys[1].otherHalf) {
      case (nil, nil): break
      case (let one?, let other?):
        if one.publicKey == other.publicKey {
          validator.refuse("keys[1].ml_dsa_65_public_key", "is the same key as keys[0]")
        }
      // A factor with a P-256 key alone would be a way around the hybrid key of the other factor (R48).
      default: validator.refuse("keys", "must both be hybrid, or neither")
      }
    }
    return keys
  }

  private static func offeredKey(
    _ key: V1.HardwareKey, signing form: SignatureForm, on platform: Platform, _ field: String,
    _ validator: inout RequestValidator
  ) -> OfferedKey? {
    requireChain(key.certificateChain, on: platform, "\(field).certificate_chain", &validator)
    let otherHalf = otherHalf(of: key, field, &validator)
    let protection = KeyProtection(key.protection)
    if protection == nil { validator.refuse("\(field).protection", "is required") }
    do throws(CryptoError) {
      let publicKey = try PhoneKey(bytes: key.publicKey)
      validator.opaque(key.signature, "\(field).signature", count: publicKey.signatureBytes)
      if case .rsa = publicKey, otherHalf != nil {
        validator.refuse("\(field).ml_dsa_65_public_key", "is taken beside a key on P-256, and not beside RSA")
      }
      return protection.map {
        OfferedKey(
          publicKey: publicKey, otherHalf: otherHalf, protection: $0, signature: key.signature, form: form,
          certificateChain: key.certificateChain)
      }
    } catch {
      validator.refuse("\(field).public_key", error.message)
      validator.opaque(key.signature, "\(field).signature", count: RequestValidator.signatureBytes)
      return nil
    }
  }

  /// `nil`: the key is not hybrid, or something is wrong with it.
  private static func otherHalf(
    of key: V1.HardwareKey, _ field: String, _ validator: inout RequestValidator
  ) -> SignatureCheck.OtherHalf? {
    guard !key.mlDsa65PublicKey.isEmpty else {
      if !key.mlDsa65Signature.isEmpty {
        validator.refuse("\(field).ml_dsa_65_public_key", "is required beside ml_dsa_65_signature")
      }
      return nil
    }
    validator.mlDSA65Signature(key.mlDsa65Signature, "\(field).ml_dsa_65_signature")
    do throws(CryptoError) {
      return SignatureCheck.OtherHalf(
        publicKey: try MLDSA65PublicKey(bytes: key.mlDsa65PublicKey), signature: key.mlDsa65Signature)
    } catch {
      validator.refuse("\(field).ml_dsa_65_public_key", error.message)
      return nil
    }
  }

  private static func appAttestProof(
    _ request: V1.CompleteBindingRequest, on platform: Platform, _ validator: inout RequestValidator
  ) -> AppAttestProof? {
    guard let offered = request.appAttest else { return nil }
    guard platform.hasAppAttest else {
      validator.refuse("app_attest", "is Apple's, and the posture is of another platform")
      return nil
    }
    guard request.profileTouchID == nil, request.passkey == nil else {
      validator.refuse("app_attest", "vouches for keys, and there is none beside profile_touch_id or passkey")
      return nil
    }
    validator.opaque(offered.keyID, "app_attest.key_id", count: appAttestKeyIDBytes)
    guard offered.attestation.isEmpty != offered.assertion.isEmpty else {
      validator.refuse("app_attest", "must have an attestation or an assertion, and not both")
      return nil
    }
    let isNew = offered.assertion.isEmpty
    let proof = AppAttestProof(
      keyID: offered.keyID, kind: isNew ? .attestation : .assertion,
      bytes: isNew ? offered.attestation : offered.assertion)
    validator.opaque(proof.bytes, proof.field, count: isNew ? appAttestationBytes : appAssertionBytes)
    return proof
  }

  /// Validates what does not depend on the certificates' content.
  private static func requireChain(
    _ chain: [[UInt8]], on platform: Platform, _ field: String, _ validator: inout RequestValidator
  ) {
    if !chain.isEmpty, platform.family != .android {
      validator.refuse(field, "is Android's, and the posture is of another platform")
    }
    if chain.count > CertificateChain.maximumCount {
      validator.refuse(field, "must be at most \(CertificateChain.maximumCount) certificates, is \(chain.count)")
    }
    for (index, certificate) in chain.enumerated().prefix(CertificateChain.maximumCount) {
      validator.opaque(certificate, "\(field)[\(index)]", count: certificateBytes)
    }
  }

  // MARK: Refuse

  /// Refuses an unknown ticket, or a ticket of an erased profile. The event names no profile.
  private static func refuseTicket(
    applicationID: String, _ exchange: Exchange<V1.CompleteBindingResponse>, service: TouchstoneService
  ) async throws(RequestError) -> Never {
    let error = RequestError.ticketInvalid
    let event = EventDraft.binding(
      .refused, applicationID: applicationID, profileID: "", deviceID: "", reason: error.reason,
      caller: exchange.caller, time: service.clock())
    try await service.refuse(error, recording: ThrottledEvent(event, answering: error.told), for: exchange)
    throw .tooManyRounds
  }

  /// The event names the ticket's profile, which must still exist when the event is written.
  ///
  /// - Parameter reason: the event's reason, if the caller's answer has less.
  func refuse(_ error: RequestError, reason: String? = nil) async throws(RequestError) -> Never {
    for _ in DecisionRound.all {
      let records = try await service.ticketHolder(ticket.profileID, of: request.applicationID, for: exchange)
      guard ticket.holder.isThere(in: records) else {
        try await Self.refuseTicket(applicationID: request.applicationID, exchange, service: service)
      }
      let event = EventDraft.binding(
        .refused, applicationID: request.applicationID, profileID: ticket.profileID, deviceID: ticket.deviceID,
        reason: reason ?? error.reason, caller: exchange.caller, time: service.clock())
      let refusal = ThrottledEvent(
        event, answering: error.told, about: ticket.profileID, on: [ticket.holder.requirement(in: records)])
      try await service.refuse(error, recording: refusal, for: exchange)
    }
    throw .tooManyRounds
  }

  // MARK: Verify the credential

  private mutating func verify() async throws(RequestError) {
    guard !ticket.isForPasskey else { try await refuse(.ofAnotherTicket("passkey", "a passkey's")) }
    // The conditions that held when the ticket was given may not hold now; and a locked device has no baseline to give
    // (R24).
    if let denial = service.configuration.enrolment.preflight(posture: posture) {
      try await refuse(
        .failedPrecondition(denial, "the device cannot be bound now", biometry: posture.biometryType))
    }
    if lacksAttestation(for: requirements) { try await refuseAsUnattested() }
    switch credential {
    case .keys:
      try await verifyPossession()
      try await verifyAttestations()
    case .profileTouchID(let value):
      let violation = ProfileTouchID.violation(in: value, profileID: ticket.profileID, deviceID: ticket.deviceID)
      if violation != nil { try await refuseProfileTouchID(RequestError.Reason.profileTouchIDGuessable) }
    case .passkey: preconditionFailure("a passkey is judged apart")
    }
  }

  private func verifyPossession() async throws(RequestError) {
    for (index, key) in credential.keys.enumerated() {
      let message = key.form.message(of: ticket.signingInput(applicationID: request.applicationID))
      let isProven =
        switch key.publicKey {
        case .p256(let publicKey):
          await exchange.verify(SignatureCheck(publicKey: publicKey, signature: key.signature, message: message))
        case .rsa(let publicKey):
          await exchange.verify(
            .rsa(publicKey: publicKey.subjectPublicKeyInfo, signature: key.signature, message: message))
        }
      guard isProven else { try await refuseUnproven("keys[\(index)].signature") }
      // Checked apart from the other signature, so that the answer names the field.
      if let half = key.otherHalf, !half.publicKey.isValidSignature(half.signature, of: message) {
        try await refuseUnproven("keys[\(index)].ml_dsa_65_signature")
      }
    }
  }

  private func refuseUnproven(_ field: String) async throws(RequestError) -> Never {
    try await refuse(
      .invalidArgument(field: field, "does not verify over the ticket's signing_input"),
      reason: RequestError.Reason.possessionNotProven)
  }

  /// Whether the application requires a proof of each key (R42), and a key has none, or the credential is a
  /// ProfileTouchID.
  private func lacksAttestation(for requirements: AttestationRequirements) -> Bool {
    requirements.demand == .required && appAttest == nil
      && (credential.keys.isEmpty || credential.keys.contains(where: \.certificateChain.isEmpty))
  }

  private func refuseAsUnattested() async throws(RequestError) -> Never {
    try await refuse(
      .failedPrecondition(
        RequestError.Reason.attestationRequired, "the application requires an attestation of each key",
        .deviceNotSetUp))
  }

  var requirements: AttestationRequirements { service.keyProofs.requirements(of: request.applicationID) }

  /// Runs after the proof of possession, so that no caller makes the service judge certificates of another person's
  /// phone.
  private mutating func verifyAttestations() async throws(RequestError) {
    // The configuration may have changed since the call began.
    let requirements = requirements
    if lacksAttestation(for: requirements) { try await refuseAsUnattested() }
    guard requirements.demand != .none else { return }
    if let appAttest { return try await verify(appAttest, by: requirements) }
    guard credential.keys.contains(where: { !$0.certificateChain.isEmpty }) else { return }
    let offered = credential.keys.map {
      OfferedProof(publicKey: $0.publicKey, protection: $0.protection, chain: $0.certificateChain)
    }
    let verdict = try await service.keyProofs.judge(
      offered, by: requirements, signingInput: ticket.signingInput(applicationID: request.applicationID),
      at: service.clock(), applicationID: request.applicationID, for: exchange)
    switch verdict {
    case .proven(let attestations): self.attestations = attestations
    case .refused(let index, let refusal):
      try await refuse(refusal.error(field: "keys[\(index)].certificate_chain"), reason: refusal.reason)
    }
  }

  private mutating func verify(
    _ appAttest: AppAttestProof, by requirements: AttestationRequirements
  ) async throws(RequestError) {
    let offered = OfferedAppAttest(
      keyID: appAttest.keyID, proof: try await offeredProof(appAttest), clientData: clientData.bytes)
    let verdict = try await service.keyProofs.judge(
      offered, by: requirements, at: service.clock(), applicationID: request.applicationID, for: exchange)
    switch verdict {
    case .success(let vouched):
      attestations = credential.keys.map { _ in vouched.attestation }
      self.vouched = vouched
    case .failure(let refusal): try await refuse(refusal, of: appAttest)
    }
  }

  private func offeredProof(_ appAttest: AppAttestProof) async throws(RequestError) -> OfferedAppAttest.Proof {
    guard appAttest.kind == .assertion else { return .attestation(appAttest.bytes) }
    let records = try await enrolmentRecords(onDevice: ticket.deviceID)
    guard let key = records.deviceBinding?.appAttest else { try await refuse(.unknownAppAttestKey, of: appAttest) }
    return .assertion(appAttest.bytes, by: key)
  }

  private var clientData: BindingClientData {
    BindingClientData(
      signingInput: ticket.signingInput(applicationID: request.applicationID), posture: PostureTerms(request.posture),
      keys: credential.keys.map {
        BindingClientData.Key(
          publicKey: $0.publicKey.bytes, mlDSA65PublicKey: $0.otherHalf?.publicKey.bytes ?? [],
          protection: $0.protection)
      })
  }

  private func refuse(
    _ refusal: KeyProofRefusal, of appAttest: AppAttestProof
  ) async throws(RequestError) -> Never {
    try await refuse(refusal.error(field: appAttest.field), reason: refusal.reason)
  }

  /// Returns why the assertion is no longer valid, if the device's binding changed after the verification.
  private func staleness(of vouched: VouchedKeys, beside binding: BindingRecord?) -> KeyProofRefusal? {
    guard appAttest?.kind == .assertion else { return nil }
    guard let binding, binding.appAttest == vouched.appAttest else { return .unknownAppAttestKey }
    guard vouched.counter > binding.proofCounter else {
      return .proof(
        ProofError(.counterNotGrown, "the counter is \(vouched.counter), and was \(binding.proofCounter) before"))
    }
    return nil
  }

  private static let profileTouchIDField = "profile_touch_id.value"

  /// Gives the same answer for a guessable ProfileTouchID and for one that another binding has, so that no caller finds
  /// another person's by trying (R30).
  private func refuseProfileTouchID(_ reason: String) async throws(RequestError) -> Never {
    var error = RequestError.invalidArgument(
      field: Self.profileTouchIDField, "is not unpredictable; let the device make another")
    error.personText = .refusal(.deviceNotSetUp)
    try await refuse(error, reason: reason)
  }

  // MARK: Decide and commit

  private func bind() async throws(RequestError) -> V1.CompleteBindingResponse {
    for round in DecisionRound.all {
      let records = try await enrolmentRecords(onDevice: ticket.deviceID)
      let holder = try await bindingWithProfileTouchID()
      if let response = try await decide(records, holder: holder, in: round) { return response }
    }
    throw .tooManyRounds
  }

  func enrolmentRecords(onDevice deviceID: String) async throws(RequestError) -> EnrolmentRecords {
    try await exchange.value {
      service.store.enrolmentRecords(
        applicationID: request.applicationID, profileID: ticket.profileID, deviceID: deviceID,
        vendor: service.vendor(of: request.applicationID), ticket: ticket.key, completion: $0)
    }
  }

  /// The active binding that has the ProfileTouchID already.
  private func bindingWithProfileTouchID() async throws(RequestError) -> BindingRecord? {
    guard let digest = profileTouchIDDigest else { return nil }
    let query = SubjectQuery(named: .bearer, digest: digest, applicationID: request.applicationID)
    let found: AttemptRecords = try await exchange.value { service.records(query, completion: $0) }
    return found.binding
  }

  private var profileTouchIDDigest: [UInt8]? {
    guard case .profileTouchID(let value) = credential else { return nil }
    return service.pepper.digest(ofProfileTouchID: value)
  }

  /// Whether the ticket can still be used.
  func isOpen(_ records: EnrolmentRecords) -> Bool {
    !records.isTicketUsed && Self.isInTime(ticket, service) && ticket.holder.isThere(in: records.holder)
  }

  /// Returns `nil` if a record changed since it was read.
  ///
  /// - Parameter holder: the active binding that has the ProfileTouchID already.
  private func decide(
    _ records: EnrolmentRecords, holder: BindingRecord?, in round: DecisionRound
  ) async throws(RequestError) -> V1.CompleteBindingResponse? {
    // Checked in each round, because the ticket may expire during verification and conflicts.
    guard isOpen(records) else { try await refuse(.ticketInvalid) }
    if let vouched, let appAttest, let refusal = staleness(of: vouched, beside: records.deviceBinding) {
      try await refuse(refusal, of: appAttest)
    }
    let part = exchange.begin(.decide)
    let decision = service.configuration.enrolment.decide(
      EnrolmentFacts(
        profileID: ticket.profileID, deviceProfileID: records.deviceBinding?.profileID,
        activeBindingCount: records.activeBindingCount, replaceExisting: request.replaceExisting, lock: records.lock,
        isSignedByDevice: !credential.keys.isEmpty))
    part?.end()
    switch decision {
    case .bind(let revokesExisting, let endsLockout):
      // A device may keep its own ProfileTouchID, because its earlier binding is revoked.
      if let holder, !Identifier.areEqual(holder.bindingID, records.deviceBinding?.bindingID ?? "") {
        try await refuseProfileTouchID(RequestError.Reason.profileTouchIDInUse)
      }
      return try await bind(
        records, replacing: revokesExisting ? records.deviceBinding : nil, endingLockout: endsLockout, in: round)
    case .refuse(.deviceSpeaksForAnotherProfile):
      try await refuse(
        .failedPrecondition(
          RequestError.Reason.deviceBoundToAnotherProfile,
          "the device speaks for another profile; replace_existing replaces it", .deviceBoundToAnotherProfile))
    case .refuse(.tooManyBindings):
      try await refuse(.tooManyBindings)
    }
  }

  /// Uses the ticket, revokes what the device was bound to before, and binds it, all in one transaction.
  private func bind(
    _ records: EnrolmentRecords, replacing existing: BindingRecord?, endingLockout: Bool, in round: DecisionRound
  ) async throws(RequestError) -> V1.CompleteBindingResponse? {
    let now = service.clock()
    let binding = BindingRecord(
      bindingID: service.randomness.bindingID(), applicationID: request.applicationID,
      profileID: ticket.profileID, deviceID: ticket.deviceID, deviceName: request.deviceName,
      biometryType: posture.biometryType,
      credential: credentialRecord, appAttest: vouched?.appAttest,
      isRevoked: false, baseline: .recorded(from: posture), platformFamily: posture.platform.family,
      deviceLockCount: records.lockNumber(for: ticket.profileID, endingLockout: endingLockout, in: round),
      createdAt: now, lastUsedAt: nil,
      lastSeen: SeenPosture(
        posture, deviceModel: request.posture?.deviceModel ?? "", seenAt: now,
        isProven: !credential.keys.isEmpty,
        domainState: DomainStateBaseline.recorded(from: posture) == nil ? .neverRecorded : .unchanged),
      proofCounter: vouched?.counter ?? 0, version: 0)
    var changeSet = ChangeSet(changes: [
      .useTicket(ticket.key), ticket.holder.requirement(in: records.holder), .putProfile(records.profile.written()),
    ])
    if let existing {
      changeSet.revoke(existing)
      changeSet.events.append(.binding(.revoked, existing, reason: "REPLACED", caller: exchange.caller, time: now))
      if let vouched, vouched.appAttest == existing.appAttest {
        changeSet.changes.append(
          .raiseProofCounter(bindingID: existing.bindingID, from: existing.proofCounter, to: vouched.counter))
      }
    }
    changeSet.changes.append(.putBinding(binding))
    if let receipt = vouched?.receipt {
      changeSet.changes.append(.putReceipt(bindingID: binding.bindingID, receipt))
    } else if vouched != nil, let existing {
      changeSet.changes.append(.moveReceipt(from: existing.bindingID, to: binding.bindingID))
    }
    changeSet.events.append(
      .binding(.created, binding, form: signatureForm, caller: exchange.caller, time: now))
    let isOnTooManyPhones = service.sharedDevices.withLock {
      $0.isNews(deviceID: binding.deviceID, profileID: binding.profileID, of: binding.applicationID, at: now)
    }
    if isOnTooManyPhones {
      changeSet.events.append(
        .device(
          .shared, binding.deviceID, applicationID: binding.applicationID, profileID: binding.profileID,
          reason: "MANY_PROFILES", caller: exchange.caller, time: now))
    }
    if endingLockout {
      var device = records.device
      device.settle(BiometryStanding())
      changeSet.changes.append(.putDevice(device))
      changeSet.events.append(
        .device(
          .unlocked, device.deviceID, applicationID: request.applicationID, profileID: ticket.profileID,
          reason: "BOUND_ANEW", caller: exchange.caller, time: now))
    } else {
      changeSet.compare(records.device, in: round)
    }
    let advisories =
      Advisory.ofRecovery(bindings: [binding.standing], profile: records.profile.standing) + ofReplacement(of: existing)
    guard try await service.commit(changeSet, for: exchange) else { return nil }
    service.meters.bindingsCreated.count(binding.credential.proofLevel)
    if existing != nil { service.meters.bindingsRevoked.count(.replaced) }
    let isCounted = service.sharedDevices.withLock {
      $0.note(deviceID: binding.deviceID, profileID: binding.profileID, of: binding.applicationID, at: now)
    }
    if isCounted { service.meters.foundSharedDevice() }
    return V1.CompleteBindingResponse(binding: V1.Binding(binding), advisories: advisories.map(\.rawValue))
  }

  /// Returns no advisory if the replaced binding was another profile's, because the caller allowed that by
  /// `replace_existing`.
  private func ofReplacement(of existing: BindingRecord?) -> [Advisory] {
    guard let existing, let seen = existing.lastSeen, Identifier.areEqual(existing.profileID, ticket.profileID) else {
      return []
    }
    return Advisory.ofReplacement(
      of: seen.posture, model: seen.deviceModel, by: posture, model: request.posture?.deviceModel ?? "")
  }

  /// Text if any of the keys signed it; `nil`: there is no key.
  private var signatureForm: SignatureForm? {
    credential.keys.map(\.form).max { $0.rawValue < $1.rawValue }
  }

  private var credentialRecord: CredentialRecord {
    if let digest = profileTouchIDDigest { return .profileTouchID(digest: digest) }
    return .hardwareKeys(
      credential.keys.enumerated().map { index, key in
        HardwareKeyRecord(
          key.publicKey.kind, publicKey: key.publicKey.bytes, mlDSA65PublicKey: key.otherHalf?.publicKey.bytes,
          protection: key.protection, attestation: attestations.isEmpty ? nil : attestations[index])
      })
  }
}

extension EnrolmentRecords {
  fileprivate var lock: EnrolmentFacts.Lock {
    guard device.biometry.isLockedOut else { return .none }
    guard let deviceBinding, deviceBinding.deviceLockCount != device.lockCount else { return .beforeExistingBinding }
    return .afterExistingBinding
  }

  /// Returns the number of the lock that the new binding counts as made under. If it replaces the profile's own binding
  /// during a lock that it does not end (a ProfileTouchID ends none), it takes over that binding's number.
  fileprivate func lockNumber(for profileID: String, endingLockout: Bool, in round: DecisionRound) -> UInt64 {
    if endingLockout { return 0 }
    if device.biometry.isLockedOut, let deviceBinding, Identifier.areEqual(deviceBinding.profileID, profileID) {
      return deviceBinding.deviceLockCount
    }
    return device.presentLock(in: round)
  }
}

extension RequestError {
  /// The answer for each ticket that is not valid: unknown, changed, expired, used, or of another caller or
  /// application.
  static let ticketInvalid = RequestError.failedPrecondition(
    Reason.ticketInvalid, "the ticket is not valid, has expired or was used", .requestEnded)

  static let tooManyBindings = RequestError.failedPrecondition(
    Reason.tooManyBindings, "the profile has as many devices as it may have; revoke one first", .tooManyBindings)

  fileprivate static func ofAnotherTicket(_ field: String, _ kind: String) -> RequestError {
    .invalidArgument(field: field, "the ticket is \(kind)")
  }

  /// The text by which similar refusals are counted.
  fileprivate var told: String { reason ?? message }
}
