// SubmitAttempt, step by step: open the evaluation, read what it rests on, verify, decide, commit, answer.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// One attempt on its way. Every step runs on the call's shard.
struct AttemptFlow: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<V1.SubmitAttemptResponse>
  let applicationID: String
  let policy: EvaluationPolicy
  let evaluation: SealedEvaluation
  let proof: Proof
  let posture: DevicePosture

  /// What the device sent.
  enum Proof: Sendable {
    case key(factor: Factor, signature: [UInt8])
    case report(LAErrorCode?)

    var factor: Factor? {
      if case .key(let factor, _) = self { factor } else { nil }
    }
  }

  /// A sealed evaluation holds at most a prompt, three identifiers and a transaction: under 2 KiB.
  static let sealedBytes = 1...4_096

  // MARK: Open

  static func start(
    _ request: V1.SubmitAttemptRequest, _ exchange: Exchange<V1.SubmitAttemptResponse>, service: TouchstoneService
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.identifier(request.applicationID, "application_id")
    validator.opaque(request.evaluation, "evaluation", count: sealedBytes)
    let posture = validator.posture(request.posture)
    let proof = try proof(request.attempt, &validator)
    try validator.finish()
    guard let proof else { preconditionFailure("a request without a proof was refused above") }

    guard
      let evaluation = service.sealer.openEvaluation(
        request.evaluation, for: exchange.caller, applicationID: request.applicationID),
      service.clock() < evaluation.key.expiresAt,
      let policy = service.policies[evaluation.policyName], policy.revision == evaluation.policyRevision
    else { return refuseContext(request.applicationID, exchange, service: service) }

    AttemptFlow(
      service: service, exchange: exchange, applicationID: request.applicationID, policy: policy,
      evaluation: evaluation, proof: proof, posture: posture
    ).read(round: 0, isValid: nil)
  }

  private static func proof(
    _ attempt: V1.SubmitAttemptRequest.Attempt?, _ validator: inout RequestValidator
  ) throws(RequestError) -> Proof? {
    switch attempt {
    case .key(let key):
      validator.opaque(key.signature, "key.signature", count: RequestValidator.signatureBytes)
      guard let factor = Factor(key.factor), factor == .biometry || factor == .deviceOwner else {
        validator.refuse("key.factor", "must be FACTOR_BIOMETRY or FACTOR_DEVICE_OWNER")
        return nil
      }
      return .key(factor: factor, signature: key.signature)
    case .report(let report):
      if report.laError == .unspecified { validator.refuse("report.la_error", "is required") }
      return .report(LAErrorCode(rawValue: report.laError.rawValue))
    case .profileTouchID, .passcode, .gesture, .passkey, .primary:
      throw RequestError(code: .unimplemented, message: "attempt: this factor is not served by this version")
    case nil:
      validator.refuse("attempt", "is required")
      return nil
    }
  }

  /// One answer for unknown, tampered, expired, another caller's and an older policy's.
  private static func refuseContext(
    _ applicationID: String, _ exchange: Exchange<V1.SubmitAttemptResponse>, service: TouchstoneService
  ) {
    let event = EventDraft.evaluation(
      .refused, policy: "", applicationID: applicationID, subject: nil, caller: exchange.caller, time: service.clock())
    service.record(event, for: exchange) {
      exchange.answer(
        V1.SubmitAttemptResponse(
          outcome: .invalidContext, laError: .invalidContext,
          result: V1.Result(outcome: .invalidContext, code: .invalidContext)))
    }
  }

  // MARK: Read and verify

  /// `isValid`: the proof's verdict, if an earlier round found it. Keys of a binding never change, so it stands.
  private func read(round: Int, isValid: Bool?) {
    service.subject(
      bindingID: evaluation.bindingID, applicationID: applicationID, evaluation: evaluation.key, for: exchange
    ) { subject in
      if let isValid { decide(subject, isValid: isValid, round: round) } else { verify(subject, round: round) }
    }
  }

  private func verify(_ subject: Subject, round: Int) {
    guard case .key(let factor, let signature) = proof, subject.evaluation?.standing.isFinished != true else {
      return decide(subject, isValid: false, round: round)
    }
    let ownKey = subject.binding?.publicKey(for: factor)
    let check = SignatureCheck(
      publicKey: Self.importedKey(ownKey), signature: signature,
      message: evaluation.signingInput(applicationID: applicationID, policy: policy))
    exchange.context.verifications.add(check) { isValid in
      decide(subject, isValid: isValid && ownKey != nil, round: round)
    }
  }

  /// Where there is no key, a stand-in takes as long to say no (R37).
  private static func importedKey(_ bytes: [UInt8]?) -> P256PublicKey {
    guard let bytes else { return .standIn }
    do throws(CryptoError) {
      return try P256PublicKey(bytes: bytes)
    } catch {
      // A key is only stored after it was imported once.
      preconditionFailure("a stored public key does not import: \(error)")
    }
  }

  // MARK: Decide and commit

  private func decide(_ subject: Subject, isValid: Bool, round: Int) {
    let now = service.clock()
    // Asked again in each round: verifying and conflicts take time.
    guard now < evaluation.key.expiresAt else {
      return Self.refuseContext(applicationID, exchange, service: service)
    }
    let attempt: Attempt =
      switch proof {
      case .key(let factor, _): .key(factor: factor, isValid: isValid)
      case .report(let code): .report(code)
      }
    let decision = policy.decide(
      AttemptFacts(
        posture: posture,
        binding: subject.standing(standIns: service.standIns, bindingID: evaluation.bindingID),
        device: subject.device.biometry, profile: .none,
        evaluation: subject.evaluation?.standing ?? EvaluationStanding(), now: now, attempt: attempt))
    let grant = decision.outcome == .succeeded ? Grant(subject, self, at: now) : nil
    service.commit(
      changes(subject, decision, grant, at: now), round: round, for: exchange,
      conflicted: { read(round: round + 1, isValid: isValid) },
      committed: { exchange.answer(answer(decision, grant)) })
  }

  private func changes(
    _ subject: Subject, _ decision: AttemptDecision, _ grant: Grant?, at now: UnixTime
  ) -> ChangeSet {
    var changes: [Change] = []
    if let binding = grant?.binding {
      // The success rests on the binding's and the device's standing, so both must still be as they were read.
      changes.append(.touchBinding(id: binding.bindingID, version: binding.version, lastUsedAt: now))
      if decision.device == nil {
        changes.append(.requireDevice(id: subject.device.deviceID, version: subject.device.version))
      }
    }
    if let standing = decision.device {
      var device = subject.device
      device.biometry = standing
      changes.append(.putDevice(device))
    }
    if let standing = decision.evaluation {
      var record = subject.evaluation ?? EvaluationRecord(key: evaluation.key)
      record.standing = standing
      changes.append(.putEvaluation(record))
    }
    if let token = grant?.tokenRecord { changes.append(.putToken(token)) }
    let event = EventDraft.evaluation(
      EventDraft.EvaluationKind(decision.outcome), policy: policy.name, applicationID: applicationID,
      subject: subject, reason: decision.laError.map { "\($0.rawValue)" }, factor: proof.factor,
      caller: exchange.caller, time: now)
    return ChangeSet(changes: changes, events: [event])
  }

  // MARK: Answer

  private func answer(_ decision: AttemptDecision, _ grant: Grant?) -> V1.SubmitAttemptResponse {
    var response = V1.SubmitAttemptResponse(
      outcome: V1.Outcome(decision.outcome), laError: V1.LAError(decision.laError),
      result: V1.Result(outcome: decision.outcome, code: decision.laError),
      nextFactors: decision.nextFactors.map(V1.Factor.init), attemptsLeft: decision.attemptsLeft,
      retryAfter: decision.retryAfter.map(V1.Duration.init),
      domainState: V1.DomainStateVerdict(decision.domainState))
    if decision.outcome != .invalidContext {
      response.presentation = V1.Presentation(
        evaluation.prompt, on: posture, isFallbackVisible: decision.isFallbackVisible)
    }
    if let grant {
      response.profileID = grant.binding.profileID
      if let claims = grant.claims {
        response.token = service.tokenSigner.sign(claims)
        response.tokenExpiresAt = V1.Timestamp(UnixTime(seconds: claims.expiresAt))
      }
    }
    return response
  }
}

/// What a success yields.
private struct Grant: Sendable {
  var binding: BindingRecord
  /// `nil`: the policy issues no token.
  var claims: TokenClaims?
  /// A single-use token's, written with the success.
  var tokenRecord: TokenRecord?

  init?(_ subject: Subject, _ flow: AttemptFlow, at now: UnixTime) {
    guard let binding = subject.binding else { return nil }
    self.binding = binding
    guard let lifetime = flow.policy.tokenLifetime else { return }
    let tokenID = flow.service.randomness.uniqueID()
    let transaction = flow.evaluation.transaction?.canonicalBytes
    let claims = TokenClaims(
      issuer: flow.service.configuration.issuer, audience: flow.applicationID, subject: binding.profileID,
      issuedAt: now.seconds, expiresAt: (now + lifetime).seconds, tokenID: Base64URL.encode(tokenID.bytes),
      methods: binding.authenticationMethods(for: flow.proof.factor), policy: flow.policy.name,
      bindingID: binding.bindingID, transactionDigest: transaction.map { sha256($0) })
    self.claims = claims
    if flow.policy.isTokenSingleUse {
      tokenRecord = TokenRecord(
        key: ExpiringKey(expiresAt: UnixTime(seconds: claims.expiresAt), id: tokenID), state: .issued,
        transaction: transaction ?? [], version: 0)
    }
  }
}

extension BindingRecord {
  /// `amr` (RFC 8176): a hardware key, and what unlocked it. Optic ID is iris.
  fileprivate func authenticationMethods(for factor: Factor?) -> [String] {
    guard factor == .biometry else { return [AuthenticationMethod.hardwareKey, AuthenticationMethod.userPresence] }
    let biometry =
      switch biometryType {
      case .touchID, .unspecified, .none: AuthenticationMethod.fingerprint
      case .faceID: AuthenticationMethod.face
      case .opticID: AuthenticationMethod.iris
      case .voice: AuthenticationMethod.voice
      }
    return [AuthenticationMethod.hardwareKey, biometry]
  }
}
