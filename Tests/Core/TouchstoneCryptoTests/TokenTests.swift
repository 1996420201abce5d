// R40: tokens say what was claimed, and only this service's own are believed.

import Crypto
import Encodings
import Testing

@testable import TouchstoneCrypto

private let issuer = "https://touchstone.example"

private let login = TokenClaims(
  issuer: issuer, applicationID: "com.example.bank", use: .login, subject: "profile-1", issuedAt: 1_700_000_000,
  expiresAt: 1_700_000_900, tokenID: "AAECAwQFBgcICQoLDA0ODw", methods: ["hwk", "fpt"], policy: "login",
  bindingID: "binding-1")

private let payment: TokenClaims = {
  var claims = login
  claims.use = .payment
  claims.policy = "payment"
  claims.transactionDigest = sha256(Array("12.50 CNY".utf8))
  return claims
}()

private let once: TokenClaims = {
  var claims = login
  claims.use = .once
  return claims
}()

private let unbound: TokenClaims = {
  var claims = login
  claims.bindingID = nil
  claims.profileState = Array(0..<32)
  return claims
}()

@Suite struct TokenTests {
  private let keys = SigningKeys(active: .random())

  private func verifier(issuer: String = issuer) -> TokenVerifier {
    TokenVerifier(keys: keys, issuer: issuer)
  }

  @Test(arguments: [login, payment, once, unbound])
  func `what was signed is what is read`(claims: TokenClaims) {  // R40
    let token = TokenSigner(keys: keys, issuer: issuer).sign(claims)
    #expect(verifier().verify(token) == claims)
  }

  @Test func `header and payload stand as documented`() throws {  // R40
    let segments = TokenSigner(keys: keys, issuer: issuer).sign(payment).split(separator: ".").map(String.init)
    try #require(segments.count == 3)
    #expect(
      try text(of: segments[0]) == #"{"typ":"payment+jwt","alg":"ES256","kid":"\#(keys.active(at: 0).keyID)"}"#)
    let digest = Base64URL.encode(payment.transactionDigest!)
    #expect(
      try text(of: segments[1])
        == #"{"iss":"https://touchstone.example","aud":"com.example.bank/payment","sub":"profile-1","iat":1700000000,"#
        + #""exp":1700000900,"jti":"AAECAwQFBgcICQoLDA0ODw","amr":["hwk","fpt"],"acr":"payment","bnd":"binding-1","#
        + #""txn":"\#(digest)","single_use":true}"#)
    #expect(Base64URL.decode(segments[2])?.count == 64)
  }

  @Test(arguments: [
    "\"}],{\\", "\u{0}\n\u{1f}", "é", "e\u{301}", "汉字 😀", "\u{2028}", "\u{feff}", "a.b.c", "=+/-_", "",
    String(repeating: "\u{1}", count: 128),
  ])
  func `any text survives, byte for byte`(hostile: String) throws {
    var claims = login
    claims.applicationID = hostile
    claims.subject = hostile
    claims.policy = hostile
    claims.bindingID = hostile
    claims.methods = [hostile, hostile]
    let read = try #require(verifier().verify(TokenSigner(keys: keys, issuer: issuer).sign(claims)))
    for text in [read.applicationID, read.subject, read.policy, try #require(read.bindingID)] + read.methods {
      #expect(Array(text.utf8) == Array(hostile.utf8))
    }
  }

  @Test(arguments: [(login, "JWT", "a"), (once, "once+jwt", "a/once"), (payment, "payment+jwt", "a/payment")])
  func `each use has a type and an audience`(claims: TokenClaims, type: String, audience: String) throws {  // R40
    var claims = claims
    claims.applicationID = "a"
    let segments = TokenSigner(keys: keys, issuer: issuer).sign(claims).split(separator: ".").map(String.init)
    #expect(try text(of: segments[0]).contains(#""typ":"\#(type)""#))
    let payload = try text(of: segments[1])
    #expect(payload.contains(#""aud":"\#(audience)""#))
    #expect(payload.contains(#""single_use":true"#) == claims.use.isSingle)
  }

  /// Rightly signed, so that only the contradiction can be what is refused.
  @Test func `type, audience, single_use and txn agree, or it is no token`() throws {  // R40
    let digest = "\"\(Base64URL.encode(sha256([])))\""
    let audiences = ["a": TokenUse.login, "a/once": .once, "a/payment": .payment]
    for use in TokenUse.allCases {
      for (audience, audienceUse) in audiences {
        for isSingle in [true, false] {
          for hasTransaction in [true, false] {
            var members = [
              "iss": "\"\(issuer)\"", "aud": "\"\(audience)\"", "sub": "\"s\"", "iat": "1", "exp": "2",
              "jti": "\"j\"", "amr": "[\"pin\"]", "acr": "\"p\"",
            ]
            if isSingle { members["single_use"] = "true" }
            if hasTransaction { members["txn"] = digest }
            let input =
              String(decoding: keys.active(at: 0).headerSegment(use), as: UTF8.self) + encode(json(members))
            let isAgreed =
              use == audienceUse && use.isSingle == isSingle && (use == .payment) == hasTransaction
            let claims = try verifier().verify(signed(input))
            #expect((claims != nil) == isAgreed, "\(use) \(audience) \(isSingle) \(hasTransaction)")
            #expect(claims.map(\.applicationID) == (isAgreed ? "a" : nil))
          }
        }
      }
    }
  }

  @Test(arguments: ["/once", "/payment", "a/once", "a/payment", "a/payment/payment", "é/once"])
  func `no application is named like another one's single-use audience`(id: String) {  // R40
    #expect(TokenUse.violation(inApplicationID: id) != nil)
  }

  @Test(arguments: ["a", "payment", "once", "a/payments", "a/Payment", "a/login", "a/payment/", "a／payment", "/"])
  func `other applications are`(id: String) {
    #expect(TokenUse.violation(inApplicationID: id) == nil)
  }

  @Test func `a token that has expired is still read`() throws {
    var claims = login
    claims.expiresAt = 1
    #expect(verifier().verify(TokenSigner(keys: keys, issuer: issuer).sign(claims))?.expiresAt == 1)
  }

  @Test func `no altered character is accepted`() {  // R40
    let token = Array(TokenSigner(keys: keys, issuer: issuer).sign(payment).utf8)
    for index in token.indices {
      var altered = token
      altered[index] = altered[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(verifier().verify(String(decoding: altered, as: UTF8.self)) == nil, "character \(index)")
    }
  }

  @Test func `the unused bits of the signature's last character are zero`() throws {  // R40
    let token = TokenSigner(keys: keys, issuer: issuer).sign(login)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let last = try #require(alphabet.firstIndex(of: token.last!))
    #expect(last % 16 == 0)
    for unused in 1..<16 {
      #expect(verifier().verify(token.dropLast() + String(alphabet[last + unused])) == nil)
    }
  }

  @Test(arguments: [
    #"{"typ":"JWT","alg":"none","kid":"KID"}"#,
    #"{"alg":"none"}"#,
    #"{"typ":"JWT","alg":"HS256","kid":"KID"}"#,
    #"{"typ":"JWT","alg":"ES384","kid":"KID"}"#,
    #"{"typ":"JWT","alg":"es256","kid":"KID"}"#,
    #"{"typ":"JWT","alg":"ES256"}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"other"}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"KID","jwk":{"kty":"EC","crv":"P-256","x":"","y":""}}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"KID","jku":"https://attacker.example"}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"KID","x5u":"https://attacker.example"}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"KID","crit":["b64"],"b64":false}"#,
    #"{"alg":"ES256","typ":"JWT","kid":"KID"}"#,
    #"{"typ":"payment+jwt","alg":"ES256","kid":"KID"}"#,
    #"{"typ":"once+jwt","alg":"ES256","kid":"KID"}"#,
    #"{"typ": "JWT","alg":"ES256","kid":"KID"}"#,
    #"{"typ":"JWT","alg":"ES256","kid":"KID"} "#,
    #"{"typ":"jwt","alg":"ES256","kid":"KID"}"#,
    "{}", "",
  ])
  func `every other header is refused, rightly signed or not`(header: String) throws {  // R40
    let input =
      "\(encode(header.replacing("KID", with: keys.active(at: 0).keyID))).\(Base64URL.encode(payload(of: login)))"
    #expect(try verifier().verify(signed(input)) == nil)
    #expect(verifier().verify(input + ".") == nil)
    let byPublicKey = HMAC<SHA256>.authenticationCode(
      for: Array(input.utf8), using: SymmetricKey(data: keys.active(at: 0).publicKey.x963))
    #expect(verifier().verify("\(input).\(Base64URL.encode(Array(byPublicKey)))") == nil)
  }

  @Test func `other forms of the same token are refused`() throws {  // R40
    let token = TokenSigner(keys: keys, issuer: issuer).sign(login)
    let segments = token.split(separator: ".").map(String.init)
    try #require(verifier().verify(token) != nil)
    for other in [
      "", ".", "..", "...", segments[0], "\(segments[0]).", "\(segments[0])..", "\(segments[0]).\(segments[1])",
      "\(segments[0])..\(segments[2])", "\(segments[1]).\(segments[0]).\(segments[2])",
      ".\(token)", "\(token).", "\(token).\(segments[2])", "\(segments[0]).\(token)",
      " \(token)", "\(token) ", "\(token)\n", "\(token)=", "\(token)==",
      "\(segments[0]).\(segments[1])=.\(segments[2])", "\(segments[0])=.\(segments[1]).\(segments[2])",
      "\(segments[0]). \(segments[1]).\(segments[2])", token.uppercased(), "Bearer \(token)", "\(token)\u{0}",
    ] {
      #expect(verifier().verify(other) == nil, "\(other)")
    }
  }

  @Test func `a signature in DER is refused`() throws {  // R40: RFC 7518 section 3.4 knows only 64 bytes.
    let input =
      String(decoding: keys.active(at: 0).headerSegment(.login), as: UTF8.self) + Base64URL.encode(payload(of: login))
    let signature = try keys.active(at: 0).privateKey.value.signature(for: Array(input.utf8))
    #expect(verifier().verify("\(input).\(Base64URL.encode(Array(signature.rawRepresentation)))") == login)
    #expect(verifier().verify("\(input).\(Base64URL.encode(Array(signature.derRepresentation)))") == nil)
  }

  @Test(arguments: ["iss", "aud", "sub", "iat", "exp", "jti", "amr", "acr", "bnd", "att"])
  func `a claim that is missing or of another type makes no token`(claim: String) throws {  // R40
    var members = [
      "iss": "\"\(issuer)\"", "aud": "\"a\"", "sub": "\"s\"", "iat": "1", "exp": "2", "jti": "\"j\"",
      "amr": "[\"pin\"]", "acr": "\"p\"", "bnd": "\"b\"", "att": "\"tee\"",
    ]
    try #require(verifier().verify(token(payload: json(members))) != nil)
    for wrong in ["true", "null", "{}", "1.5", "[1]", claim == "amr" ? "\"pin\"" : "[\"x\"]"] {
      members[claim] = wrong
      #expect(try verifier().verify(token(payload: json(members))) == nil, "\(claim): \(wrong)")
    }
    members[claim] = nil
    // Who had no binding has a token without one, and most bindings are not attested.
    #expect(try (verifier().verify(token(payload: json(members))) == nil) == !["bnd", "att"].contains(claim))
  }

  @Test func `a token says what is proven of the keys, if anything is`() throws {  // R42
    var claims = login
    #expect(!String(decoding: payload(of: claims), as: UTF8.self).contains("att"))
    claims.attestation = "tee"
    #expect(String(decoding: payload(of: claims), as: UTF8.self).contains(#""att":"tee""#))
    #expect(verifier().verify(TokenSigner(keys: keys, issuer: issuer).sign(claims)) == claims)
  }

  @Test func `a token without a binding has no bnd`() throws {  // R40
    var claims = login
    claims.bindingID = nil
    let signed = TokenSigner(keys: keys, issuer: issuer).sign(claims)
    #expect(verifier().verify(signed) == claims)
    let payload = try text(of: String(signed.split(separator: ".")[1]))
    #expect(!payload.contains("bnd"))
  }

  @Test(arguments: ["\"\"", "\"AAAA\"", "1", "null", "\"\(Base64URL.encode(sha256([])))=\""])
  func `a transaction's digest has 32 bytes`(txn: String) throws {  // R40
    let members = [
      "iss": "\"\(issuer)\"", "aud": "\"a\"", "sub": "\"s\"", "iat": "1", "exp": "2", "jti": "\"j\"",
      "amr": "[\"pin\"]", "acr": "\"p\"", "bnd": "\"b\"", "txn": txn,
    ]
    #expect(try verifier().verify(token(payload: json(members))) == nil)
  }

  @Test func `claims of a newer version are passed over`() throws {
    let members = json([
      "iss": "\"\(issuer)\"", "aud": "\"a\"", "sub": "\"s\"", "iat": "1", "exp": "2", "jti": "\"j\"",
      "amr": "[]", "acr": "\"p\"", "bnd": "\"b\"", "new": "\"x\"",
    ])
    #expect(try verifier().verify(token(payload: members))?.applicationID == "a")
  }

  @Test(arguments: ["", "https://touchstone.exampl", "https://touchstone.example/", "https://other.example"])
  func `another issuer's token is refused`(other: String) {
    let token = TokenSigner(keys: keys, issuer: issuer).sign(login)
    #expect(verifier(issuer: other).verify(token) == nil)
  }

  @Test func `issuers compare by bytes, not by canonical equivalence`() {
    var claims = login
    claims.issuer = "caf\u{e9}"
    let token = TokenSigner(keys: keys, issuer: "caf\u{e9}").sign(claims)
    #expect(verifier(issuer: "caf\u{e9}").verify(token) != nil)
    #expect(verifier(issuer: "cafe\u{301}").verify(token) == nil)
  }

  @Test func `too long a token is refused though it is genuine`() throws {
    var claims = login
    claims.subject = String(repeating: "x", count: TokenVerifier.maximumByteCount)
    #expect(verifier().verify(TokenSigner(keys: keys, issuer: issuer).sign(claims)) == nil)
  }

  @Test func `keys rotate with overlap`() {  // R40
    let (old, new) = (SigningKey.random(), SigningKey.random())
    let earlyToken = TokenSigner(keys: SigningKeys(active: old, others: [new]), issuer: issuer).sign(login)
    let lateToken = TokenSigner(keys: SigningKeys(active: new, others: [old]), issuer: issuer).sign(login)

    for overlap in [SigningKeys(active: old, others: [new]), SigningKeys(active: new, others: [old])] {
      #expect(TokenVerifier(keys: overlap, issuer: issuer).verify(earlyToken) == login)
      #expect(TokenVerifier(keys: overlap, issuer: issuer).verify(lateToken) == login)
    }
    let after = TokenVerifier(keys: SigningKeys(active: new), issuer: issuer)
    #expect(after.verify(earlyToken) == nil)
    #expect(after.verify(lateToken) == login)
  }

  private func token(payload: String) throws -> String {
    try signed(String(decoding: keys.active(at: 0).headerSegment(.login), as: UTF8.self) + encode(payload))
  }

  private func signed(_ input: String) throws -> String {
    let signature = try keys.active(at: 0).privateKey.value.signature(for: Array(input.utf8))
    return "\(input).\(Base64URL.encode(Array(signature.rawRepresentation)))"
  }

  private func payload(of claims: TokenClaims) -> [UInt8] {
    claims.payload(after: TokenClaims.payloadPrefix(issuer: claims.issuer))
  }

  private func json(_ members: [String: String]) -> String {
    "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
  }

  private func encode(_ text: String) -> String {
    Base64URL.encode(Array(text.utf8))
  }

  private func text(of segment: String) throws -> String {
    String(decoding: try #require(Base64URL.decode(segment)), as: UTF8.self)
  }
}
