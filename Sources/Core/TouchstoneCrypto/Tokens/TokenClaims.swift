internal import Encodings

/// The content of a token (R40): the claims of RFC 7519 section 4.1, RFC 8176 and this service. Times are Unix seconds.
public struct TokenClaims: Sendable, Hashable {
  /// `iss`
  public var issuer: String
  /// The application, with which `aud` begins. Compare its bytes, because Swift's `==` also accepts canonically
  /// equivalent strings.
  public var applicationID: String
  /// `single_use`, the rest of `aud`, and the header's `typ`.
  public var use: TokenUse
  /// `sub`: the profile.
  public var subject: String
  /// `iat`
  public var issuedAt: Int64
  /// `exp`
  public var expiresAt: Int64
  /// `jti`: 16 bytes in base64url, twelve of which are random (`ExpiringKey`).
  public var tokenID: String
  /// `amr`: see `AuthenticationMethod`.
  public var methods: [String]
  /// `acr`: the policy's name.
  public var policy: String
  /// `bnd`: the binding; `nil` if the person had none.
  public var bindingID: String?
  /// `profile_state`, if there is no binding: by it the issuer checks that the profile and its secrets are still those
  /// of the issue. Other services ignore it.
  public var profileState: [UInt8]?
  /// `txn`: SHA-256 of the approved transaction's canonical bytes, 32 bytes; only in payments' tokens.
  public var transactionDigest: [UInt8]?
  /// `att`, in a token by a key that is attested: the level that is proven of the binding's keys (R42).
  public var attestation: String?

  public init(
    issuer: String, applicationID: String, use: TokenUse, subject: String, issuedAt: Int64, expiresAt: Int64,
    tokenID: String, methods: [String], policy: String, bindingID: String?, profileState: [UInt8]? = nil,
    transactionDigest: [UInt8]? = nil, attestation: String? = nil
  ) {
    self.issuer = issuer
    self.applicationID = applicationID
    self.use = use
    self.subject = subject
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.tokenID = tokenID
    self.methods = methods
    self.policy = policy
    self.bindingID = bindingID
    self.profileState = profileState
    self.transactionDigest = transactionDigest
    self.attestation = attestation
  }
}

/// Authentication method references (RFC 8176 section 2).
public enum AuthenticationMethod {
  public static let hardwareKey = "hwk"
  public static let proofOfPossession = "pop"
  public static let fingerprint = "fpt"
  public static let face = "face"
  public static let iris = "iris"
  public static let voice = "vbm"
  public static let pin = "pin"
  public static let password = "pwd"
  public static let oneTimePassword = "otp"
  public static let userPresence = "user"
  /// The methods of a passkey: the possession of its key, and the authenticator's verification of the person.
  public static let multipleFactors = "mfa"
}

extension TokenClaims {
  /// The payload's first member, the same in every token of an issuer.
  static func payloadPrefix(issuer: String) -> JSONObjectWriter {
    var writer = JSONObjectWriter()
    writer.write("iss", issuer)
    return writer
  }

  /// Room for the claims with identifiers of usual lengths.
  private static let usualPayloadByteCount = 512

  /// The payload: `prefix` and the following members.
  func payload(after prefix: JSONObjectWriter) -> [UInt8] {
    var writer = prefix
    writer.reserveCapacity(Self.usualPayloadByteCount)
    writer.write("aud", use.audience(of: applicationID))
    writer.write("sub", subject)
    writer.write("iat", issuedAt)
    writer.write("exp", expiresAt)
    writer.write("jti", tokenID)
    writer.write("amr", methods)
    writer.write("acr", policy)
    if let bindingID {
      writer.write("bnd", bindingID)
    }
    if let profileState {
      writer.write("profile_state", Base64URL.encode(profileState))
    }
    if let transactionDigest {
      writer.write("txn", Base64URL.encode(transactionDigest))
    }
    if let attestation {
      writer.write("att", attestation)
    }
    if use.isSingle {
      writer.writeTrue("single_use")
    }
    return writer.finish()
  }

  /// `nil` if a claim is missing or of another type, or if `aud`, `single_use` and `txn` disagree on the use. Unknown
  /// claims are skipped, so that a newer replica's tokens can be read.
  init?(payload: [UInt8]) {
    guard
      case .object(let members)? = try? JSONReader.read(payload),
      case .string(let issuer) = members["iss"],
      case .string(let audience) = members["aud"],
      case .string(let subject) = members["sub"],
      case .integer(let issuedAt) = members["iat"],
      case .integer(let expiresAt) = members["exp"],
      case .string(let tokenID) = members["jti"],
      let methods = members["amr"]?.strings,
      case .string(let policy) = members["acr"]
    else { return nil }
    let (applicationID, use) = TokenUse.split(audience: audience)
    self.init(
      issuer: issuer, applicationID: applicationID, use: use, subject: subject, issuedAt: issuedAt,
      expiresAt: expiresAt, tokenID: tokenID, methods: methods, policy: policy, bindingID: nil)
    guard members["single_use"] == (use.isSingle ? .boolean(true) : nil),
      (members["txn"] != nil) == (use == .payment)
    else { return nil }

    switch members["bnd"] {
    case nil: break
    case .string(let id): bindingID = id
    default: return nil
    }

    switch members["att"] {
    case nil: break
    case .string(let level): attestation = level
    default: return nil
    }

    switch members["profile_state"] {
    case nil: break
    case .string(let text):
      guard let state = Base64URL.decode(text) else { return nil }
      profileState = state
    default: return nil
    }

    switch members["txn"] {
    case nil:
      transactionDigest = nil
    case .string(let text):
      guard let digest = Base64URL.decode(text), digest.count == 32 else { return nil }
      transactionDigest = digest
    default:
      return nil
    }
  }
}
