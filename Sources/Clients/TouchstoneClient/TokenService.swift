// TokenService: the tokens that a successful evaluation issues for other services.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Checks that a token is genuine, in time, not revoked, not used, and for this application.
  public var introspectToken: UnaryMethod<V1.IntrospectTokenRequest, V1.IntrospectTokenResponse> {
    method(V1.TokenService.introspectToken)
  }

  /// Uses up a token that serves once, such as a payment's: exactly one of any number of parallel calls succeeds.
  public var consumeToken: UnaryMethod<V1.ConsumeTokenRequest, V1.ConsumeTokenResponse> {
    method(V1.TokenService.consumeToken)
  }

  public var revokeToken: UnaryMethod<V1.RevokeTokenRequest, V1.RevokeTokenResponse> {
    method(V1.TokenService.revokeToken)
  }

  /// Returns the public keys, as a JWK Set (RFC 7517).
  public var getSigningKeys: UnaryMethod<V1.GetSigningKeysRequest, V1.GetSigningKeysResponse> {
    method(V1.TokenService.getSigningKeys)
  }
}
