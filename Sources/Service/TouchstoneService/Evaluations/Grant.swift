// The result of a success: the profile, a token, and the changes that become durable with them.

internal import Encodings
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The inputs of a token beside its attempt. The id is drawn when the attempt comes in, because a flow draws nothing.
struct TokenIssuing: Sendable {
  let id: UniqueID
  let issuer: String
  let pepper: Pepper
  let lineage: Lineage
}

extension TouchstoneService {
  var tokenIssuing: TokenIssuing {
    TokenIssuing(id: randomness.uniqueID(), issuer: configuration.issuer, pepper: pepper, lineage: store.lineage)
  }
}

struct Grant: Sendable {
  var profileID: String
  /// `nil`: the policy issues no token.
  var claims: TokenClaims?
  /// The record of a single-use token, written with the success.
  private var tokenRecord: TokenRecord?

  /// Links the event of the token's issue with the event of its use.
  var singleUseTokenID: String? { tokenRecord.flatMap { _ in claims?.tokenID } }

  /// - Precondition: the store has the subject. The rules let no unknown subject succeed.
  init(to subject: Subject, by terms: AttemptTerms, at now: UnixTime) {
    guard let profileID = subject.profileID else { preconditionFailure("a success needs a known profile") }
    self.profileID = profileID
    guard let lifetime = terms.policy.tokenLifetime else { return }
    let issuing = terms.issuing
    let key = ExpiringKey(
      expiresAt: UnixTime(seconds: (now + lifetime).seconds), random: issuing.id, in: issuing.lineage)
    let transaction = terms.evaluation.transaction
    let binding = subject.sharedBinding
    let tokenID = Base64URL.encode(key.id.bytes)
    let claims = TokenClaims(
      issuer: issuing.issuer, applicationID: terms.applicationID, use: TokenUse(terms.policy),
      subject: profileID, issuedAt: now.seconds, expiresAt: key.expiresAt.seconds,
      tokenID: tokenID,
      methods: terms.proof.authenticationMethods(on: binding?.value.biometryType), policy: terms.policy.name,
      bindingID: binding?.value.bindingID,
      profileState: binding == nil
        ? ProfileState(of: subject.profile, forToken: tokenID, pepper: issuing.pepper).bytes : nil,
      transactionDigest: transaction?.digest,
      attestation: terms.proof.attestation(of: binding?.value.credential))
    self.claims = claims
    if claims.use.isSingle {
      tokenRecord = TokenRecord(
        key: key, state: .issued, transaction: transaction?.canonicalBytes ?? [], version: 0)
    }
  }

  /// One each of binding, device, profile, token and evaluation, and a passkey's sign count.
  static let mostChanges = 6

  /// The success depends on the standings of binding, device and profile, so all must still be as they were read. A
  /// record that the decision replaces is compared when it is written.
  ///
  /// - Parameters:
  ///   - provenFamily: the family in a posture that came with a proof by the device's key. A success of another factor
  ///     proves nothing about the device.
  ///   - assertion: of a passkey; `nil`: another factor succeeded.
  func changes(
    _ subject: Subject, _ decision: AttemptDecision, provenFamily: PlatformFamily?, _ assertion: OfferedAssertion?,
    at now: UnixTime
  ) -> [Change] {
    var changes: [Change] = []
    changes.reserveCapacity(Self.mostChanges)
    if let binding = subject.binding {
      changes.append(change(of: binding, decision, provenFamily, assertion, at: now))
      if decision.device == nil {
        let device = subject.device
        changes.append(.requireDevice(id: device.deviceID, vendor: device.vendor, version: device.version))
      }
    }
    if decision.secret == nil { changes.append(.require(subject.profile)) }
    if let tokenRecord { changes.append(.putToken(tokenRecord)) }
    return changes
  }

  private func change(
    of binding: BindingRecord, _ decision: AttemptDecision, _ provenFamily: PlatformFamily?,
    _ assertion: OfferedAssertion?, at now: UnixTime
  ) -> Change {
    let learnsFamily = binding.platformFamily == nil && provenFamily != nil
    let backup = assertion.flatMap { $0.newBackup(binding) }
    guard decision.baseline != nil || learnsFamily || backup != nil else {
      return .touchBinding(id: binding.bindingID, version: binding.version, lastUsedAt: now)
    }
    var binding = binding
    // R26
    if let baseline = decision.baseline { binding.baseline = baseline }
    // R38: the binding has no recorded family.
    if learnsFamily { binding.platformFamily = provenFamily }
    // R46
    if let backup { binding.credential = .passkey(backup) }
    binding.lastUsedAt = now
    return .putBinding(binding)
  }
}

extension TokenUse {
  fileprivate init(_ policy: EvaluationPolicy) {
    switch policy.purpose {
    case .payment: self = .payment
    case .login: self = policy.isTokenSingleUse ? .once : .login
    }
  }
}

extension Change {
  static func require(_ binding: BindingRecord) -> Change {
    .requireBinding(id: binding.bindingID, version: binding.version)
  }

  static func require(_ profile: ProfileRecord) -> Change {
    .requireProfile(
      applicationID: profile.applicationID, profileID: profile.profileID, version: profile.version)
  }
}

extension AttemptProof {
  /// The claim `att`: what is proven of the keys, if one of them proves the person.
  fileprivate func attestation(of credential: CredentialRecord?) -> String? {
    switch self {
    case .key, .passkey: credential.map(\.proofLevel).flatMap { $0 > .none ? $0.name : nil }
    case .profileTouchID, .secret, .primary, .report: nil
    }
  }

  /// The claim `amr` (RFC 8176): the proof, and what unlocked it on the device.
  ///
  /// - Parameter biometryType: the binding's sensor; `nil`: there is none.
  fileprivate func authenticationMethods(on biometryType: BiometryType?) -> [String] {
    switch self {
    case .key(.biometry, _):
      if let biometryType {
        [AuthenticationMethod.hardwareKey, biometryType.authenticationMethod]
      } else {
        [AuthenticationMethod.hardwareKey]
      }
    case .key: [AuthenticationMethod.hardwareKey, AuthenticationMethod.userPresence]
    // A ProfileTouchID is a bearer identifier, not a key.
    case .profileTouchID: biometryType.map { [$0.authenticationMethod] } ?? []
    // Only the authenticator can tell whether the key is in hardware, and what unlocked it.
    case .passkey(let assertion):
      [AuthenticationMethod.proofOfPossession, AuthenticationMethod.userPresence]
        + (assertion.isUserVerified ? [AuthenticationMethod.multipleFactors] : [])
    case .secret: [AuthenticationMethod.pin]
    case .primary(let login): [login.authenticationMethod]
    case .report: []
    }
  }
}

extension BiometryType {
  /// Optic ID recognizes the iris.
  fileprivate var authenticationMethod: String {
    switch self {
    case .touchID, .unspecified, .none: AuthenticationMethod.fingerprint
    case .faceID: AuthenticationMethod.face
    case .opticID: AuthenticationMethod.iris
    case .voice: AuthenticationMethod.voice
    }
  }
}

extension PrimaryLogin {
  /// The caller's own method if RFC 8176 has a word for it; otherwise `user`, for the presence of a person.
  fileprivate var authenticationMethod: String {
    switch method {
    case "password", "pwd": AuthenticationMethod.password
    case "otp": AuthenticationMethod.oneTimePassword
    default: AuthenticationMethod.userPresence
    }
  }
}
