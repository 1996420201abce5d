// One attempt, as a device or its caller sends it, and its validation.

internal import DispatchRPC
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
}

/// The signature by a binding's key.
struct KeySignature: Sendable {
  var p256: [UInt8]
  /// Empty: the key is not hybrid (R48).
  var mlDSA65: [UInt8]
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
  mutating func proof(
    _ attempt: V1.SubmitAttemptRequest.Attempt?, of service: TouchstoneService
  ) -> AttemptProof? {
    switch attempt {
    case .key(let key):
      return proof(key)
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

  private mutating func proof(_ key: V1.KeyProof) -> AttemptProof? {
    opaque(key.signature, "key.signature", count: Self.signatureBytes)
    guard let factor = Factor(key.factor), factor == .biometry || factor == .deviceOwner else {
      refuse("key.factor", "must be FACTOR_BIOMETRY or FACTOR_DEVICE_OWNER")
      return nil
    }
    if !key.mlDsa65Signature.isEmpty { mlDSA65Signature(key.mlDsa65Signature, "key.ml_dsa_65_signature") }
    return .key(factor: factor, signature: KeySignature(p256: key.signature, mlDSA65: key.mlDsa65Signature))
  }

  mutating func mlDSA65Signature(_ bytes: [UInt8], _ field: String) {
    let count = MLDSA65PublicKey.signatureByteCount
    opaque(bytes, field, count: count...count)
  }
}
