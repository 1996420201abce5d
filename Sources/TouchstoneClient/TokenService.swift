// TokenService: what a successful evaluation yields to other services.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Is it genuine, in time, not revoked, not used, and for this application?
  public var introspectToken: UnaryMethod<V1.IntrospectTokenRequest, V1.IntrospectTokenResponse> {
    method("TokenService/IntrospectToken")
  }

  /// Uses up a single-use token (a payment's): of any number of parallel calls exactly one succeeds.
  public var consumeToken: UnaryMethod<V1.ConsumeTokenRequest, V1.ConsumeTokenResponse> {
    method("TokenService/ConsumeToken")
  }

  public var revokeToken: UnaryMethod<V1.RevokeTokenRequest, V1.RevokeTokenResponse> {
    method("TokenService/RevokeToken")
  }

  /// The public keys, as a JWK Set (RFC 7517).
  public var getSigningKeys: UnaryMethod<V1.GetSigningKeysRequest, V1.GetSigningKeysResponse> {
    method("TokenService/GetSigningKeys")
  }
}
