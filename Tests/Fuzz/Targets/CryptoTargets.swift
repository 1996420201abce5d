// Tokens and sealed state: what callers hand back to us.

@testable import TouchstoneCrypto

extension FuzzTarget {
  /// The input as a token, as the end of a good one, and as the payload of one that was signed: nobody else's is
  /// parsed.
  static let tokens = FuzzTarget("tokens", maximumBytes: 4 << 10) { input in
    let bytes = Array(input)
    let text = String(decoding: bytes, as: UTF8.self)
    require(verifier.verify(text) == nil, "a token of nobody's is accepted")
    require(verifier.verify(token + text) == nil || text.isEmpty, "a token is accepted with something after it")
    let count = min(bytes.count, token.utf8.count)
    let changed = String(decoding: token.utf8.dropLast(count) + bytes.prefix(count), as: UTF8.self)
    require(verifier.verify(changed) == nil || changed == token, "a changed token is accepted")

    guard let claims = TokenClaims(payload: bytes) else { return }
    let written = claims.payload(after: TokenClaims.payloadPrefix(issuer: claims.issuer))
    require(TokenClaims(payload: written) == claims, "claims changed on their way")
  }

  /// The input as it is, as the end of what is sealed, and in place of some of it.
  static let sealed = FuzzTarget("sealed", maximumBytes: 512) { input in
    let bytes = Array(input)
    require(sealer.open(bytes, context: context) == nil, "what nobody sealed is opened")
    require(sealer.open(sealedText, context: bytes) == nil || bytes == context, "another context opens it")
    if !bytes.isEmpty {
      require(sealer.open(sealedText + bytes, context: context) == nil, "it is opened with something after it")
    }
    let (count, start) = (min(bytes.count, sealedText.count), Int(bytes.first ?? 0) % sealedText.count)
    var changed = sealedText
    changed.replaceSubrange(start..<min(start + count, changed.count), with: bytes.prefix(count))
    require(sealer.open(changed, context: context) == nil || changed == sealedText, "what was changed is opened")
    require(sealer.open(sealedText, context: context) == text, "what was sealed is not opened")
  }

  private static let keys = SigningKeys(active: .random())
  private static let verifier = TokenVerifier(keys: keys, issuer: "fuzz")
  private static let token = TokenSigner(keys: keys, issuer: "fuzz").sign(
    TokenClaims(
      issuer: "fuzz", applicationID: "a", use: .login, subject: "s", issuedAt: 1, expiresAt: 2, tokenID: "t",
      methods: ["hwk"],
      policy: "p", bindingID: "b"))

  private static let sealer = Sealer(keys: SealingKeys(active: .random()))
  private static let context = Array("context".utf8)
  private static let text = Array("some state of an evaluation".utf8)
  private static let sealedText = sealer.seal(text, context: context, at: 0)
}
