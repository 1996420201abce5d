// One attempt, as a device or its caller sends it, and its validation.

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// One try, as it was sent.
enum AttemptProof: Sendable {
  case key(factor: Factor, signature: KeySignature)
  /// By its digest: the identifier itself is needed no more (R30).
  case profileTouchID(digest: [UInt8])
  case passkey(OfferedAssertion)
  case secret(OfferedSecret)
  case primary(PrimaryLogin)
  case report(LAErrorCode?)

  /// `nil`: a report does not tell.
  var factor: Factor? {
    switch self {
    case .key(let factor, _): factor
    case .secret(let secret): secret.kind
    case .profileTouchID: .biometry
    case .passkey: .passkey
    case .primary: .primary
    case .report: nil
    }
  }

  var profileTouchIDDigest: [UInt8]? {
    if case .profileTouchID(let digest) = self { digest } else { nil }
  }

  /// `nil`: no phone's key signed.
  var signatureForm: SignatureForm? {
    if case .key(_, let signature) = self { signature.form } else { nil }
  }
}

/// The signature by a binding's key.
struct KeySignature: Sendable {
  /// By ECDSA on P-256, or by RSA.
  var bytes: [UInt8]
  /// Empty: the key is not hybrid (R48).
  var mlDSA65: [UInt8]
  var form = SignatureForm.raw
}

/// The calling service's word that it logged the person in.
struct PrimaryLogin: Sendable {
  /// "password", "otp", "idv".
  var method: String
  var authenticatedAt: UnixTime
}

extension Pepper {
  /// Under which a ProfileTouchID is stored and found (R30).
  func digest(ofProfileTouchID bytes: [UInt8]) -> [UInt8] {
    digest(of: bytes, purpose: "profile touch id")
  }
}

extension RequestValidator {
  /// `nil` where something is wrong with it.
  mutating func proof(of request: V1.SubmitAttemptRequest, by service: TouchstoneService) -> AttemptProof? {
    switch request.attempt {
    case .key(let key):
      return proof(key, of: request.applicationID, by: service)
    case .profileTouchID(let proof):
      opaque(proof.profileTouchID, "profile_touch_id.profile_touch_id", count: ProfileTouchID.lengths)
      return .profileTouchID(digest: service.pepper.digest(ofProfileTouchID: proof.profileTouchID))
    case .passcode(let proof):
      return .secret(passcode(proof, "passcode"))
    case .gesture(let proof):
      return gesture(proof, "gesture").map(AttemptProof.secret)
    case .primary(let primary):
      // Whether it is fresh depends on the policy; that it does not lie in the future, on the clock alone.
      let authenticatedAt = authenticationTime(
        primary, "primary", under: service.configuration.enrolment, at: service.clock())
      return .primary(PrimaryLogin(method: primary.method, authenticatedAt: authenticatedAt))
    case .report(let report):
      if report.laError == .unspecified { refuse("report.la_error", "is required") }
      return .report(LAErrorCode(rawValue: report.laError.rawValue))
    case .passkey(let proof):
      return .passkey(assertion(proof, "passkey"))
    case nil:
      refuse("attempt", "is required")
      return nil
    }
  }

  private mutating func proof(
    _ key: V1.KeyProof, of applicationID: String, by service: TouchstoneService
  ) -> AttemptProof? {
    opaque(key.signature, "key.signature", count: Self.signatureBytes)
    guard let factor = Factor(key.factor), factor == .biometry || factor == .deviceOwner else {
      refuse("key.factor", "must be FACTOR_BIOMETRY or FACTOR_DEVICE_OWNER")
      return nil
    }
    if !key.mlDsa65Signature.isEmpty { mlDSA65Signature(key.mlDsa65Signature, "key.ml_dsa_65_signature") }
    let form = signatureForm(key.signatureForm, "key.signature_form", of: applicationID, by: service)
    return .key(
      factor: factor, signature: KeySignature(bytes: key.signature, mlDSA65: key.mlDsa65Signature, form: form))
  }

  mutating func mlDSA65Signature(_ bytes: [UInt8], _ field: String) {
    let count = MLDSA65PublicKey.signatureByteCount
    opaque(bytes, field, count: count...count)
  }

  mutating func appAssertion(of request: V1.SubmitAttemptRequest, on platform: Platform) {
    guard !request.appAssertion.isEmpty else { return }
    opaque(request.appAssertion, "app_assertion", count: 1...AppAssertion.maximumBytes)
    if case .key? = request.attempt {} else { refuse("app_assertion", "is taken beside key alone") }
    if !platform.hasAppAttest { refuse("app_assertion", "is Apple's, and the posture is of another platform") }
  }
}

/// The app's word for an attempt by the key: an assertion by the App Attest key that vouched for the binding (R43).
///
/// It is verified before the key's own signature, and what is wrong with it has one answer for all bindings, whether
/// they have no such key or another one. Nothing is counted: the app sends the attempt again with a new one.
struct OfferedAppAssertion: Sendable {
  let assertion: AppAssertion
  /// As it was sent.
  let posture: PostureTerms
  /// The application's requirements when the attempt came in.
  let requirements: AttestationRequirements
}

extension OfferedAppAssertion {
  /// `nil`: there is none, or the application does not look at proofs.
  init?(_ request: V1.SubmitAttemptRequest, of service: TouchstoneService) throws(RequestError) {
    guard !request.appAssertion.isEmpty else { return nil }
    requirements = service.keyProofs.requirements(of: request.applicationID)
    guard requirements.demand != .none else { return nil }
    do throws(ProofError) {
      assertion = try AppAssertion(request.appAssertion)
    } catch {
      throw .invalidArgument(error, field: "app_assertion")
    }
    posture = PostureTerms(request.posture)
  }
}
