// What a success yields: who it was, a token, and what becomes durable with them.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct Grant: Sendable {
  var profileID: String
  /// `nil`: the policy issues no token.
  var claims: TokenClaims?
  /// A single-use token's, written with the success.
  private var tokenRecord: TokenRecord?

  /// What links the event of its issue with the one of its use.
  var singleUseTokenID: String? { tokenRecord.flatMap { _ in claims?.tokenID } }

  /// - Precondition: the subject is known. The rules let nobody else succeed.
  init(to subject: Subject, by flow: AttemptFlow, at now: UnixTime) {
    guard let profileID = subject.profileID else { preconditionFailure("a success of nobody") }
    self.profileID = profileID
    guard let lifetime = flow.policy.tokenLifetime else { return }
    let key = flow.service.newKey(expiresAt: UnixTime(seconds: (now + lifetime).seconds))
    let transaction = flow.evaluation.transaction
    let claims = TokenClaims(
      issuer: flow.service.configuration.issuer, applicationID: flow.applicationID, use: TokenUse(flow.policy),
      subject: profileID, issuedAt: now.seconds, expiresAt: key.expiresAt.seconds,
      tokenID: Base64URL.encode(key.id.bytes),
      methods: flow.proof.authenticationMethods(on: subject.binding), policy: flow.policy.name,
      bindingID: subject.binding?.bindingID, transactionDigest: transaction?.digest)
    self.claims = claims
    if claims.use.isSingle {
      tokenRecord = TokenRecord(
        key: key, state: .issued, transaction: transaction?.canonicalBytes ?? [], version: 0)
    }
  }

  /// The success rests on the standings of binding, device and profile, so all must still be as they were read. Those
  /// that the decision itself replaces are compared by that.
  ///
  /// - Parameter provenFamily: of a posture that came with a proof by the device's key. Another factor's success says nothing
  ///   of the device.
  func changes(
    _ subject: Subject, _ decision: AttemptDecision, provenFamily: PlatformFamily?, at now: UnixTime
  ) -> [Change] {
    var changes: [Change] = []
    if let binding = subject.binding {
      changes.append(change(of: binding, decision, provenFamily, at: now))
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
    of binding: BindingRecord, _ decision: AttemptDecision, _ provenFamily: PlatformFamily?, at now: UnixTime
  ) -> Change {
    let learnsFamily = binding.platformFamily == nil && provenFamily != nil
    guard decision.baseline != nil || learnsFamily else {
      return .touchBinding(id: binding.bindingID, version: binding.version, lastUsedAt: now)
    }
    var binding = binding
    // R26
    if let baseline = decision.baseline { binding.baseline = baseline }
    // R38: an older version made the binding, and did not keep its family.
    if learnsFamily { binding.platformFamily = provenFamily }
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
  static func require(_ profile: ProfileRecord) -> Change {
    .requireProfile(
      applicationID: profile.applicationID, profileID: profile.profileID, version: profile.version)
  }
}

extension AttemptProof {
  /// `amr` (RFC 8176): what was shown, and what unlocked it on the device.
  fileprivate func authenticationMethods(on binding: BindingRecord?) -> [String] {
    switch self {
    case .key(.biometry, _): [AuthenticationMethod.hardwareKey, binding?.biometryMethod].compactMap(\.self)
    case .key: [AuthenticationMethod.hardwareKey, AuthenticationMethod.userPresence]
    // A bearer identifier is no key.
    case .profileTouchID: [binding?.biometryMethod].compactMap(\.self)
    case .secret: [AuthenticationMethod.pin]
    case .primary(let login): [login.authenticationMethod]
    case .report: []
    }
  }
}

extension BindingRecord {
  /// Optic ID is iris.
  fileprivate var biometryMethod: String {
    switch biometryType {
    case .touchID, .unspecified, .none: AuthenticationMethod.fingerprint
    case .faceID: AuthenticationMethod.face
    case .opticID: AuthenticationMethod.iris
    case .voice: AuthenticationMethod.voice
    }
  }
}

extension PrimaryLogin {
  /// In the caller's own words, where RFC 8176 has one for them; else that somebody was there.
  fileprivate var authenticationMethod: String {
    switch method {
    case "password", "pwd": AuthenticationMethod.password
    case "otp": AuthenticationMethod.oneTimePassword
    default: AuthenticationMethod.userPresence
    }
  }
}
