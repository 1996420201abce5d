// The keys that may be replaced while the service runs, and what is made of them.

internal import TouchstoneCrypto
internal import TouchstoneStore

/// One reference, for the way of each call.
final class ServiceKeys: Sendable {
  let sealer: ContentSealer
  let tokenSigner: TokenSigner
  let tokenVerifier: TokenVerifier
  /// The public halves, as a JWK Set.
  let jwkSet: String

  init(_ keys: KeyRing, issuer: String, randomness: Randomness, lineage: Lineage) {
    sealer = ContentSealer(Sealer(keys: keys.sealing, randomness: randomness), in: lineage)
    tokenSigner = TokenSigner(keys: keys.signing, issuer: issuer)
    tokenVerifier = TokenVerifier(keys: keys.signing, issuer: issuer)
    jwkSet = keys.signing.jwkSet
  }
}
