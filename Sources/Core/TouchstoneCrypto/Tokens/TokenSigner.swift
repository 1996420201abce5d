import Crypto
internal import Encodings

/// Issues tokens: JWT (RFC 7519) in JWS compact serialization (RFC 7515), ES256 (RFC 7518 section 3.4). Signs for one
/// issuer, with the key that is in use when a token is issued.
public struct TokenSigner: Sendable {
  private let keys: SigningKeys
  private let issuer: String
  private let payloadPrefix: JSONObjectWriter

  public init(keys: SigningKeys, issuer: String) {
    self.keys = keys
    self.issuer = issuer
    payloadPrefix = TokenClaims.payloadPrefix(issuer: issuer)
  }

  /// `header.payload.signature`. Claims that make it longer than `TokenVerifier.maximumByteCount` give a token that no
  /// verifier accepts; identifiers of up to 128 bytes never do.
  ///
  /// - Precondition: the claims name this signer's issuer.
  public func sign(_ claims: TokenClaims) -> String {
    precondition(claims.issuer == issuer, "a signer signs only for its own issuer")
    let key = keys.active(at: claims.issuedAt)
    let headerSegment = key.headerSegment(claims.use)
    let payload = claims.payload(after: payloadPrefix)
    var token: [UInt8] = []
    token.reserveCapacity(
      headerSegment.count + Base64.encodedCount(payload.count) + 1 + TokenVerifier.signatureSegmentByteCount)
    token += headerSegment
    Base64URL.append(payload, to: &token)
    // Fails only if memory or the system's generator does.
    let signature = try! key.privateKey.value.signature(for: SHA256.hash(of: token))
    token.append(UInt8(ascii: "."))
    Base64URL.append(Array(signature.rawRepresentation), to: &token)
    return String(decoding: token, as: UTF8.self)
  }
}
