// CompleteBinding for a passkey: judge its registration (WebAuthn Level 3 §7.1), decide, commit (R46).

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// A registration, as the client sent it.
struct OfferedPasskey: Sendable {
  var attestationObject: [UInt8]
  var clientData: [UInt8]
  var transports: [String]
}

extension RequestValidator {
  static let passkeyField = "passkey"
  private static let attestationObjectBytes = 1...PasskeyRegistration.maximumBytes
  static let clientDataBytes = 1...PasskeyExpectation.maximumClientDataBytes
  /// WebAuthn defines six; browsers pass unknown ones on.
  private static let maximumTransports = 8
  private static let transportBytes = 1...32

  mutating func passkey(_ registration: V1.PasskeyRegistration) -> OfferedPasskey {
    let field = Self.passkeyField
    opaque(registration.attestationObject, "\(field).attestation_object", count: Self.attestationObjectBytes)
    opaque(registration.clientDataJSON, "\(field).client_data_json", count: Self.clientDataBytes)
    if registration.transports.count > Self.maximumTransports {
      refuse("\(field).transports", "must be at most \(Self.maximumTransports), are \(registration.transports.count)")
    }
    for (index, transport) in registration.transports.enumerated().prefix(Self.maximumTransports)
    where !Self.transportBytes.contains(transport.utf8.count) || !transport.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
      refuse("\(field).transports[\(index)]", "must be 1 to 32 visible ASCII characters")
    }
    return OfferedPasskey(
      attestationObject: registration.attestationObject, clientData: registration.clientDataJSON,
      transports: registration.transports)
  }
}

extension EnrolmentFlow {
  /// Judged by a worker, with the caller's permit: a statement's certificates cost as much as a dozen calls.
  func complete(_ passkey: OfferedPasskey) async throws(RequestError) -> V1.CompleteBindingResponse {
    let requirements = requirements
    guard requirements.passkeys != nil else { try await refuse(.passkeysNotServed) }
    let verdict = try await service.keyProofs.judge(
      passkey, by: requirements, signingInput: ticket.signingInput(applicationID: request.applicationID),
      isConditional: ticket.isConditional, at: service.clock(), applicationID: request.applicationID, for: exchange)
    switch verdict {
    case .success(let (passkey, signCount)):
      for round in DecisionRound.all {
        let records = try await enrolmentRecords(onDevice: passkey.deviceID)
        if let response = try await decide(records, passkey, signCount: signCount, in: round) { return response }
      }
      throw .tooManyRounds
    case .failure(let refusal):
      try await refuse(refusal.error(field: RequestValidator.passkeyField), reason: refusal.reason)
    }
  }

  /// `nil`: a record changed since it was read.
  private func decide(
    _ records: EnrolmentRecords, _ passkey: PasskeyRecord, signCount: UInt32, in round: DecisionRound
  ) async throws(RequestError) -> V1.CompleteBindingResponse? {
    guard isOpen(records) else { try await refuse(.ticketInvalid) }
    // One account has a credential (§7.1 step 26). The answer is that to any proof that is not accepted: a caller with
    // another account's credential id learns nothing.
    guard records.deviceBinding == nil else {
      let refusal = ProofError(.keyDiffers, "the credential is registered already")
      try await refuse(
        KeyProofRefusal.proof(refusal).error(field: RequestValidator.passkeyField),
        reason: RequestError.Reason.passkeyInUse)
    }
    let decision = service.configuration.enrolment.decide(
      EnrolmentFacts(
        profileID: ticket.profileID, deviceProfileID: nil, activeBindingCount: records.activeBindingCount,
        replaceExisting: false))
    guard case .bind = decision else { try await refuse(.tooManyBindings) }
    return try await bind(records, passkey, signCount: signCount, in: round)
  }

  private func bind(
    _ records: EnrolmentRecords, _ passkey: PasskeyRecord, signCount: UInt32, in round: DecisionRound
  ) async throws(RequestError) -> V1.CompleteBindingResponse? {
    let now = service.clock()
    // It may be used on any platform, and has no domain state.
    let binding = BindingRecord(
      bindingID: service.randomness.bindingID(), applicationID: request.applicationID,
      profileID: ticket.profileID, deviceID: passkey.deviceID, deviceName: request.deviceName,
      biometryType: .unspecified, credential: .passkey(passkey), isRevoked: false, baseline: nil, platformFamily: nil,
      createdAt: now, lastUsedAt: nil, proofCounter: signCount, version: 0)
    var changeSet = ChangeSet(
      changes: [
        .useTicket(ticket.key), ticket.holder.requirement(in: records.holder), .putProfile(records.profile.written()),
        .putBinding(binding),
      ],
      events: [.binding(.created, binding, caller: exchange.caller, time: now)])
    changeSet.compare(records.device, in: round)
    guard try await service.commit(changeSet, for: exchange) else { return nil }
    service.meters.bindingsCreated.count(binding.credential.proofLevel)
    return V1.CompleteBindingResponse(binding: V1.Binding(binding))
  }
}

// MARK: - Judging

extension KeyProofs {
  /// Judges with the caller's permit.
  ///
  /// - Parameters:
  ///   - signingInput: the ticket's signing input; the challenge is its hash (R47).
  ///   - isConditional: the ticket allows a passkey that nobody was asked for.
  func judge<Response>(
    _ offered: OfferedPasskey, by requirements: AttestationRequirements, signingInput: [UInt8], isConditional: Bool,
    at now: UnixTime, applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> Result<(PasskeyRecord, signCount: UInt32), KeyProofRefusal> {
    try await work(for: exchange, applicationID: applicationID) { trusted in
      do throws(ProofError) {
        let registration = try PasskeyRegistration.verify(
          attestationObject: offered.attestationObject, clientData: offered.clientData,
          try requirements.passkey(
            challenge: PasskeyOptions.challenge(signingInput), isConditional: isConditional),
          anchors: trusted.anchors, revoked: trusted.revoked, at: Int(now.seconds))
        // Only these two kinds of proofs rest on files that can be too old: the revocation list and the roots (R45).
        guard
          registration.android == nil || !trusted.source.isRefused(at: now),
          !registration.restsOnAuthenticatorRoots || !trusted.source.areAuthenticatorsRefused(at: now)
        else { return .failure(.trustTooOld) }
        try Self.checkKey(of: registration)
        let level = try requirements.level(of: registration)
        return .success(
          (
            PasskeyRecord(registration, at: level, rpID: requirements.passkeys?.rpID ?? "", offered.transports),
            registration.signCount
          ))
      } catch {
        return .failure(.proof(error))
      }
    }
  }

  /// RSA of 4,096 bits has 526 bytes. Longer keys would make each login of theirs costly.
  private static let maximumKeyBytes = 640

  private static func checkKey(of registration: PasskeyRegistration) throws(ProofError) {
    guard PasskeyOptions.algorithms.contains(registration.algorithm) else {
      throw ProofError(.unsupportedAlgorithm, "COSE algorithm \(registration.algorithm) was not offered")
    }
    guard registration.publicKey.count <= maximumKeyBytes else {
      throw ProofError(
        .unsupportedAlgorithm, "a key of \(registration.publicKey.count) bytes, more than \(maximumKeyBytes)")
    }
  }
}

extension PasskeyRecord {
  fileprivate init(
    _ registration: PasskeyRegistration, at level: AttestationLevel, rpID: String, _ transports: [String]
  ) {
    var attestation: KeyAttestationRecord?
    if level > .none {
      attestation = KeyAttestationRecord(
        level: ProofLevel(level),
        facts: registration.facts.map { KeyAttestationRecord.Fact(name: $0.name, value: $0.value) })
    }
    self.init(
      digest: Self.digest(ofCredentialID: registration.credentialID), credentialID: registration.credentialID,
      algorithm: Int32(registration.algorithm), publicKey: registration.p256Point ?? registration.publicKey,
      aaguid: registration.aaguid, isBackupEligible: registration.isBackupEligible,
      isBackedUp: registration.isBackedUp, rpID: rpID, transports: transports, attestation: attestation)
  }
}
