import Crypto
internal import Encodings

/// Accepts this service's own tokens and nothing else (R40, RFC 8725). Checks form, key, signature and issuer. The
/// caller checks that the token is in time, not revoked, and for this application.
public struct TokenVerifier: Sendable {
  /// Longer ones are refused unread. Four identifiers of 128 bytes and an issuer of 256, with every byte escaped
  /// (sixfold), make 6.5 KiB of base64url.
  public static let maximumByteCount = 8192

  private let keys: SigningKeys
  private let issuer: [UInt8]

  public init(keys: SigningKeys, issuer: String) {
    self.keys = keys
    self.issuer = Array(issuer.utf8)
  }

  /// `nil` for text that `TokenSigner` did not make with an accepted key for this issuer. The reason is not given.
  ///
  /// Parses no byte of an attacker before the signature is verified. The header is compared, not read, so every other
  /// algorithm and every `jwk`, `jku` or `x5u` makes a header of no known key. The header's type and the claims agree
  /// on the token's use.
  public func verify(_ token: String) -> TokenClaims? {
    guard token.utf8.count <= Self.maximumByteCount else { return nil }
    let bytes = Array(token.utf8)
    guard let (key, use) = header(of: bytes) else { return nil }
    let payloadStart = key.headerSegment(use).count

    // The alphabet of base64url has no point, so a fourth segment does not decode.
    let signatureStart = bytes.count - Self.signatureSegmentByteCount
    let payloadEnd = signatureStart - 1
    guard
      payloadEnd >= payloadStart,
      bytes[payloadEnd] == UInt8(ascii: "."),
      let rawSignature = Base64URL.decode(bytes[signatureStart...]),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: rawSignature),
      key.publicKey.key.isValidSignature(signature, for: bytes[..<payloadEnd]),
      let payload = Base64URL.decode(bytes[payloadStart..<payloadEnd]),
      let claims = TokenClaims(payload: payload), claims.use == use,
      claims.issuer.utf8.elementsEqual(issuer)
    else { return nil }
    return claims
  }

  private func header(of token: [UInt8]) -> (key: SigningKey, use: TokenUse)? {
    for key in keys.accepted {
      if let use = key.use(ofToken: token) { return (key, use) }
    }
    return nil
  }

  /// 64 bytes in base64url.
  static let signatureSegmentByteCount = 86
}
