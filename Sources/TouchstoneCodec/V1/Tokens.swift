// tokens.proto: what a successful evaluation yields to other services.

extension V1 {
  public struct TokenClaims: WireMessage {
    public var tokenID: String
    public var applicationID: String
    public var profileID: String
    public var bindingID: String
    public var policy: String
    /// RFC 8176: "hwk", "fpt", "face", "iris", "vbm", "pin", "user", "mfa".
    public var methods: [String]
    public var issuedAt: Timestamp?
    public var expiresAt: Timestamp?
    public var transaction: Transaction?
    public var singleUse: Bool

    public init(
      tokenID: String = "", applicationID: String = "", profileID: String = "", bindingID: String = "",
      policy: String = "", methods: [String] = [], issuedAt: Timestamp? = nil, expiresAt: Timestamp? = nil,
      transaction: Transaction? = nil, singleUse: Bool = false
    ) {
      self.tokenID = tokenID
      self.applicationID = applicationID
      self.profileID = profileID
      self.bindingID = bindingID
      self.policy = policy
      self.methods = methods
      self.issuedAt = issuedAt
      self.expiresAt = expiresAt
      self.transaction = transaction
      self.singleUse = singleUse
    }
  }

  /// Is it genuine, in time, not revoked, not used, and for this application?
  public struct IntrospectTokenRequest: WireMessage {
    public var applicationID: String
    public var token: String

    public init(applicationID: String = "", token: String = "") {
      self.applicationID = applicationID
      self.token = token
    }
  }

  /// Answers ``IntrospectTokenRequest``.
  public struct IntrospectTokenResponse: WireMessage {
    /// Nothing else is set where false.
    public var active: Bool
    public var claims: TokenClaims?

    public init(active: Bool = false, claims: TokenClaims? = nil) {
      self.active = active
      self.claims = claims
    }
  }

  /// Uses up a single-use token (a payment's): of any number of parallel calls exactly one succeeds.
  public struct ConsumeTokenRequest: WireMessage {
    public var applicationID: String
    public var token: String
    /// Required for a payment: must equal what was approved.
    public var transaction: Transaction?

    public init(applicationID: String = "", token: String = "", transaction: Transaction? = nil) {
      self.applicationID = applicationID
      self.token = token
      self.transaction = transaction
    }
  }

  /// Answers ``ConsumeTokenRequest``.
  public struct ConsumeTokenResponse: WireMessage {
    public var consumed: Bool
    public var claims: TokenClaims?
    /// "EXPIRED", "ALREADY_CONSUMED", "REVOKED", "TRANSACTION_MISMATCH", "INVALID".
    public var reason: String

    public init(consumed: Bool = false, claims: TokenClaims? = nil, reason: String = "") {
      self.consumed = consumed
      self.claims = claims
      self.reason = reason
    }
  }

  /// `TokenService.RevokeToken`.
  public struct RevokeTokenRequest: WireMessage {
    public var applicationID: String
    public var token: String

    public init(applicationID: String = "", token: String = "") {
      self.applicationID = applicationID
      self.token = token
    }
  }

  /// Answers ``RevokeTokenRequest``.
  public struct RevokeTokenResponse: WireMessage {
    public init() {}
  }

  /// The public keys, as a JWK Set (RFC 7517).
  public struct GetSigningKeysRequest: WireMessage {
    public init() {}
  }

  /// Answers ``GetSigningKeysRequest``.
  public struct GetSigningKeysResponse: WireMessage {
    /// JSON.
    public var jwkSet: String

    public init(jwkSet: String = "") {
      self.jwkSet = jwkSet
    }
  }
}
