// The proofs of keys that are bound: certificates by which an Android phone's hardware vouches that it made a key
// (R44), and an iPhone app's statement on its keys by App Attest (R43).
//
// Judging a proof costs as much as a dozen calls, so it is done in turns and by workers, not on an event loop.

internal import Synchronization
internal import TouchstoneAttestation
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// A key and the certificates that are to prove it.
struct OfferedProof: Sendable {
  var publicKey: PhoneKey
  var protection: KeyProtection
  /// DER, leaf first. Empty: the key is not attested.
  var chain: [[UInt8]]
}

/// The proof that an app on Apple's platforms offers for all keys of a binding together.
struct OfferedAppAttest: Sendable {
  var keyID: [UInt8]
  var proof: Proof
  /// `BindingClientData.bytes`
  var clientData: [UInt8]

  enum Proof: Sendable {
    /// The attestation of a new App Attest key.
    case attestation([UInt8])
    /// By a key that was attested before.
    case assertion([UInt8], by: AppAttestRecord)
  }
}

/// The keys that an app's proof vouches for.
struct VouchedKeys: Sendable {
  var appAttest: AppAttestRecord
  /// The receipt of a key that was attested now; `nil`: the binding that is replaced has it.
  var receipt: [UInt8]?
  /// 0 for a key that was attested now.
  var counter: UInt32
  /// The attestation of each of the binding's keys.
  var attestation: KeyAttestationRecord
}

/// The result of judging the certificates of a binding's keys.
enum KeyProofVerdict: Sendable {
  /// For each key in order; `nil`: it is not attested.
  case proven([KeyAttestationRecord?])
  case refused(index: Int, KeyProofRefusal)
}

enum KeyProofRefusal: Error, Hashable {
  /// The certificates are wrong, about something else, or not enough.
  case proof(ProofError)
  /// They are right, and name another way to unlock the key than the app claims.
  case contradictsProtection
  /// The service has no current list that shows whether they are revoked (R45).
  case trustTooOld
  /// No active binding of the device has the App Attest key.
  case unknownAppAttestKey

  /// For the event.
  var reason: String {
    switch self {
    case .proof(let error): error.reason.rawValue
    case .contradictsProtection: RequestError.Reason.attestationContradictsProtection
    case .trustTooOld: RequestError.Reason.trustDataTooOld
    case .unknownAppAttestKey: RequestError.Reason.appAttestKeyUnknown
    }
  }

  /// - Parameter field: the field of the proof.
  func error(field: String) -> RequestError {
    var error: RequestError
    switch self {
    case .contradictsProtection:
      error = .failedPrecondition(reason, "\(field): the key is not protected as its protection says")
    case .trustTooOld:
      error = .failedPrecondition(
        reason,
        "\(field): the service's roots, revoked certificates or metadata are too old; its operator renews them")
    case .proof(let proof) where proof.reason == .attestationRequired:
      error = .failedPrecondition(reason, "the application requires an attestation of each key")
    case .proof(let proof) where proof.reason == .passkeysNotServed:
      error = .passkeysNotServed
    case .proof(let proof): error = .invalidArgument(proof, field: field)
    case .unknownAppAttestKey: error = .invalidArgument(field: field, RequestError.provesNoKey)
    }
    error.personText = .refusal(.deviceNotSetUp)
    return error
  }
}

extension RequestError {
  fileprivate static let provesNoKey = "does not prove the key"

  static func invalidArgument(_ proof: ProofError, field: String) -> RequestError {
    guard proof.reason.tellsTheSender else { return .invalidArgument(field: field, provesNoKey) }
    var error = RequestError.invalidArgument(field: field, "\(proof.reason.rawValue): \(proof.detail)")
    error.reason = proof.reason.rawValue
    return error
  }
}

extension ProofError.Reason {
  /// Whether the answer gives the reason. It does if the proof cannot be read or is not served, because the developer
  /// must mend that. For all other reasons it gives no more than for a wrong signature, so that a forger learns
  /// nothing.
  fileprivate var tellsTheSender: Bool { isMalformed || isUnsupported }
}

/// Judges proofs against the trusted roots.
final class KeyProofs: Sendable {
  private let trusted: Mutex<Trusted>
  private let permits = StorePermits(.keyProofs)
  private let executor: any SecretExecutor
  private let applications: Mutex<[String: AttestationRequirements]>
  /// Signatures under any roots. A verified signature stays right, and each judgement checks anew which roots count.
  private let known = Mutex(KnownSignatures())

  struct Trusted: Sendable {
    let anchors: TrustAnchors
    let revoked: Set<String>
    let source: AttestationTrust

    fileprivate init(_ trust: AttestationTrust) {
      do throws(ProofError) {
        anchors = try trust.anchors()
      } catch {
        preconditionFailure("a built-in root: \(error.detail)")
      }
      revoked = trust.revokedSerialNumbers
      source = trust
    }
  }

  init(
    attestationTrust: AttestationTrust, applications: [String: AttestationRequirements], executor: any SecretExecutor
  ) {
    trusted = Mutex(Trusted(attestationTrust))
    self.applications = Mutex(applications)
    self.executor = executor
  }

  func replace(applications: [String: AttestationRequirements]) {
    self.applications.withLock { $0 = applications }
  }

  /// The present ones.
  func requirements(of applicationID: String) -> AttestationRequirements {
    // Byte for byte: as a key, a `String` is also found by another spelling of it.
    let found = applications.withLock { applications in
      applications.index(forKey: applicationID).map { applications[$0] }
    }
    guard let found, Identifier.areEqual(found.key, applicationID) else { return AttestationRequirements() }
    return found.value
  }

  /// `nil`: the application serves none.
  func passkeys(of applicationID: String) -> PasskeyRequirements? {
    applications.withLock { applications in
      guard !applications.isEmpty, let index = applications.index(forKey: applicationID),
        Identifier.areEqual(applications[index].key, applicationID)
      else { return nil }
      return applications[index].value.passkeys
    }
  }

  /// The present one.
  var trust: AttestationTrust { trusted.withLock { $0.source } }

  /// For all proofs that are judged later.
  func replace(_ trust: AttestationTrust) {
    let replacement = Trusted(trust)
    trusted.withLock { $0 = replacement }
  }

  /// Judges with the caller's permit.
  ///
  /// - Parameter signingInput: the ticket's signing input; the keys' challenge is its hash.
  func judge<Response>(
    _ offered: [OfferedProof], by requirements: AttestationRequirements, signingInput: [UInt8], at now: UnixTime,
    applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> KeyProofVerdict {
    try await work(for: exchange, applicationID: applicationID) { [self] trusted in
      if let index = offered.firstIndex(where: { !$0.chain.isEmpty }), trusted.source.isRefused(at: now) {
        return .refused(index: index, .trustTooOld)
      }
      var signatures = knownSignatures
      defer { remember(signatures) }
      let challenge = sha256(signingInput)
      var records: [KeyAttestationRecord?] = []
      for (index, offer) in offered.enumerated() {
        guard !offer.chain.isEmpty else {
          records.append(nil)
          continue
        }
        do throws(ProofError) {
          let attestation = try AndroidAttestation.verify(
            try chain(of: offer, trusted), challenge: challenge, anchors: trusted.anchors,
            revoked: trusted.revoked,
            at: Int(now.seconds), requirements.encoding, &signatures)
          guard offer.publicKey.isAttested(by: attestation) else {
            return .refused(index: index, .proof(ProofError(.keyDiffers, "the leaf is of another key")))
          }
          let level = try requirements.level(of: attestation)
          guard AttestedUnlocking(attestation).bearsOut(offer.protection) else {
            return .refused(index: index, .contradictsProtection)
          }
          records.append(KeyAttestationRecord(attestation, at: level, isOfListedApp: !requirements.packages.isEmpty))
        } catch {
          return .refused(index: index, .proof(error))
        }
      }
      return .proven(records)
    }
  }

  /// The same for App Attest.
  func judge<Response>(
    _ offered: OfferedAppAttest, by requirements: AttestationRequirements, at now: UnixTime, applicationID: String,
    for exchange: Exchange<Response>
  ) async throws(RequestError) -> Result<VouchedKeys, KeyProofRefusal> {
    try await work(for: exchange, applicationID: applicationID) { [self] trusted in
      let clientDataHash = sha256(offered.clientData)
      do throws(ProofError) {
        switch offered.proof {
        case .attestation(let bytes):
          guard !trusted.source.isAppAttestRefused(at: now) else { return .failure(.trustTooOld) }
          var signatures = knownSignatures
          defer { remember(signatures) }
          let attestation = try AppAttestation.verify(
            bytes, requirements.appAttest(clientDataHash: clientDataHash, keyID: offered.keyID),
            anchors: trusted.anchors.appAttest, at: Int(now.seconds), requirements.encoding,
            known: { certificate(of: $0, among: trusted.anchors.appAttest) }, &signatures)
          let record = KeyAttestationRecord(
            level: ProofLevel(try requirements.level(of: attestation)), app: attestation.appID, attestation.facts)
          return .success(
            VouchedKeys(
              appAttest: AppAttestRecord(attestation), receipt: attestation.receipt, counter: 0, attestation: record))
        case .assertion(let bytes, let key):
          guard key.keyID == offered.keyID, let environment = AppAttestEnvironment(rawValue: key.environment) else {
            return .failure(.unknownAppAttestKey)
          }
          let assertion = try AppAssertion(bytes)
          try assertion.verify(by: key.publicKey, over: clientDataHash)
          try assertion.check(appID: key.appID, previousCounter: nil)
          try requirements.checkAppAttestKey(of: key.appID, in: environment)
          let record = KeyAttestationRecord(
            level: ProofLevel(try requirements.levelOfAppAttestKey()), app: key.appID,
            AppAttestation.facts(ofKey: key.keyID, environment))
          return .success(VouchedKeys(appAttest: key, counter: assertion.counter, attestation: record))
        }
      } catch {
        return .failure(.proof(error))
      }
    }
  }

  /// Runs `judge` by a worker, with the caller's permit.
  func work<Response, Verdict: Sendable>(
    for exchange: Exchange<Response>, applicationID: String, judge: @escaping @Sendable (Trusted) -> Verdict
  ) async throws(RequestError) -> Verdict {
    let trusted = trusted.withLock { $0 }
    let part = exchange.begin(.verify)
    defer { part?.end() }
    let permit = try await permits.permit(for: exchange, applicationID: applicationID)
    return await withUnsafeContinuation { continuation in
      executor.run {
        let verdict = judge(trusted)
        permit.end()
        continuation.resume(returning: verdict)
      }
    }
  }

}

extension KeyProofs {
  private func chain(of offer: OfferedProof, _ trusted: Trusted) throws(ProofError) -> CertificateChain {
    try CertificateChain(der: offer.chain) { certificate(of: $0, among: trusted.anchors.androidHardware) }
  }

  /// One that was read before.
  private func certificate(of bytes: [UInt8], among anchors: [Certificate]) -> Certificate? {
    known.withLock { $0.certificate(of: bytes) } ?? anchors.first { $0.der == bytes }
  }

  private var knownSignatures: AuthoritySignatures {
    AuthoritySignatures { [self] signature in known.withLock { $0.contains(signature) } }
  }

  /// For the next phones of the same make.
  private func remember(_ signatures: AuthoritySignatures) {
    known.withLock { known in
      for signature in signatures.verified { known.insert(signature) }
    }
  }
}

extension ProofLevel {
  init(_ level: AttestationLevel) {
    self =
      switch level {
      case .none: .none
      case .selfAttested: .selfAttested
      case .app: .app
      case .tee: .tee
      case .strongbox: .strongbox
      }
  }
}

extension AttestedUnlocking {
  /// Reads what unlocks the key. If hardware vouches for the key, the hardware's list alone counts.
  fileprivate init(_ attestation: AndroidAttestation) {
    let enforced = attestation.enforced
    let timeout = enforced.compactMap(\.authenticationTimeout).first
    let isUnbounded = timeout != nil && enforced.contains(where: \.outlastsTimeoutOnBody)
    guard let authenticators = enforced.compactMap(\.authenticators).first, !isUnbounded else {
      self = .nothing
      return
    }
    self = .needed(
      byBiometrics: authenticators & Authorizations.Number.biometrics != 0,
      byPasscode: authenticators & Authorizations.Number.password != 0,
      lasting: timeout.map { .seconds($0) })
  }
}

extension KeyAttestationRecord {
  fileprivate init(_ attestation: AndroidAttestation, at level: AttestationLevel, isOfListedApp: Bool) {
    self.init(
      level: ProofLevel(level), isOfListedApp: isOfListedApp,
      facts: attestation.facts.map { Fact(name: $0.name, value: $0.value) })
  }

  fileprivate init(level: ProofLevel, app appID: String, _ facts: [ProofFact]) {
    self.init(
      level: level,
      facts: [Fact(name: "app_id", value: appID)] + facts.map { Fact(name: $0.name, value: $0.value) })
  }
}

extension AppAttestRecord {
  fileprivate init(_ attestation: AppAttestation) {
    self.init(
      keyID: attestation.keyID, publicKey: attestation.publicKey, appID: attestation.appID,
      environment: attestation.environment.rawValue)
  }
}
