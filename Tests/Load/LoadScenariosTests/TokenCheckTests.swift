import Crypto
import LoadScenarios
import Testing

@Suite("Tokens")
struct TokenCheckTests {
  private static let now: Int64 = 1_800_000_000
  private static let key = P256.Signing.PrivateKey()

  private static func expectation(_ purpose: PhoneRequest.Purpose) -> TokenExpectation {
    TokenExpectation(
      purpose, application: "shop", policy: purpose.rawValue, bindingID: "b1", profileID: "ada", expiresAt: now + 300)
  }

  private static func token(
    header: String = #"{"typ":"JWT","alg":"ES256","kid":"k1"}"#, payload: String, key: P256.Signing.PrivateKey = key
  ) throws -> String {
    let signed = base64(Array(header.utf8)) + "." + base64(Array(payload.utf8))
    let signature = try key.signature(for: Array(signed.utf8)).rawRepresentation
    return signed + "." + base64(Array(signature))
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
    return stride(from: 0, to: bits.count, by: 6).map { start in
      let sextet = (0..<6).reduce(0) { $0 << 1 | (start + $1 < bits.count ? Int(bits[start + $1]) : 0) }
      return String(alphabet[sextet])
    }.joined()
  }

  private static func login(
    aud: String = #""shop""#, acr: String = #""login""#, bnd: String = #""b1""#, sub: String = #""ada""#,
    exp: Int64 = now + 300, more: String = ""
  ) -> String {
    #"{"iss":"touchstone","aud":\#(aud),"sub":\#(sub),"iat":\#(now),"exp":\#(exp),"jti":"x","amr":["hwk","face"],"acr":\#(acr),"bnd":\#(bnd)\#(more)}"#
  }

  private static let paymentHeader = #"{"typ":"payment+jwt","alg":"ES256","kid":"k1"}"#
  private static let paymentPayload = login(
    aud: #""shop/payment""#, acr: #""payment""#, more: #","txn":"abc","single_use":true"#)

  private static func fault(_ token: String, _ purpose: PhoneRequest.Purpose = .login) -> String? {
    var check = TokenCheck()
    var parts: TokenCheck.Parts?
    let fault = check.fault(in: token, expectation(purpose), now: now, parts: &parts)
    #expect((parts != nil) == (fault == nil))
    return fault
  }

  @Test("Right tokens have no fault")
  func right() throws {
    #expect(Self.fault(try Self.token(payload: Self.login())) == nil)
    #expect(Self.fault(try Self.token(payload: Self.login(more: #","later":{"a":[1,{"b":"}"}]}"#))) == nil)
    #expect(Self.fault(try Self.token(header: Self.paymentHeader, payload: Self.paymentPayload), .payment) == nil)
  }

  private static let wrong: [(payload: String, fault: String)] = [
    (login(aud: #""shop/once""#), "the token's audience"),
    (login(aud: #""shop2""#), "the token's audience"),
    (login(aud: #"["shop"]"#), "the token's audience"),
    (login(acr: #""payment""#), "the token's policy"),
    (login(bnd: #""b2""#), "the token's binding"),
    (login(bnd: "1"), "the token's binding"),
    (login(sub: #""bob""#), "the token's subject"),
    (login(more: #","single_use":true"#), "the token's single_use"),
    (login(more: #","txn":"abc""#), "the token's transaction"),
    (login(exp: now + 301), "the token's expiry"),
    (login(exp: now - 300), "the token's expiry"),
    (#"{"aud":"shop"}"#, "the token's policy"),
    (#"{"aud":"shop""#, "the token's form"),
    (#"{"aud":"shop"}x"#, "the token's form"),
    (#"{"aud":}"#, "the token's form"),
    ("[]", "the token's form"),
    ("", "the token's form"),
  ]

  @Test("What a token says otherwise is found", arguments: wrong)
  func claims(payload: String, fault: String) throws {
    #expect(Self.fault(try Self.token(payload: payload)) == fault)
  }

  @Test("A token of another kind, or none at all, is found")
  func form() throws {
    #expect(Self.fault("") == "no token")
    #expect(Self.fault("abc") == "the token's header")
    #expect(Self.fault("a.b.c") == "the token's header")
    #expect(Self.fault("..") == "the token's header")
    #expect(
      Self.fault(try "." + Self.token(payload: Self.login()).split(separator: ".").dropFirst().joined(separator: "."))
        == "the token's header")
    #expect(Self.fault(try Self.token(header: Self.paymentHeader, payload: Self.login())) == "the token's header")
    #expect(Self.fault(try Self.token(payload: Self.paymentPayload), .payment) == "the token's header")
    let unsigned = #"{"typ":"JWT","alg":"none","kid":"k1"}"#
    #expect(Self.fault(try Self.token(header: unsigned, payload: Self.login())) == "the token's header")
    let token = try Self.token(payload: Self.login())
    #expect(Self.fault(token.replacing(".", with: "=.", maxReplacements: 1)) == "the token's header")
  }

  @Test("A remembered header does not stand for another one")
  func headers() throws {
    var check = TokenCheck()
    var parts: TokenCheck.Parts?
    for id in ["k1", "k2", "k1"] {
      let token = try Self.token(header: #"{"typ":"JWT","alg":"ES256","kid":"\#(id)"}"#, payload: Self.login())
      #expect(check.fault(in: token, Self.expectation(.login), now: Self.now, parts: &parts) == nil)
      #expect(parts?.keyID == id)
    }
  }

  @Test("Signatures are verified by the published keys")
  func signatures() throws {
    let point = [UInt8](Self.key.publicKey.rawRepresentation)
    let set = """
      {"keys":[{"kty":"RSA","kid":"k0"},{"kty":"EC","crv":"P-256","kid":"k1","x":"\(Self.base64(Array(point[..<32])))",\
      "y":"\(Self.base64(Array(point[32...])))"}]}
      """
    let keys = try #require(PublishedKeys(jwkSet: set))
    #expect(keys.ids == ["k1"])
    func isValid(_ token: String) -> Bool? {
      var check = TokenCheck()
      var parts: TokenCheck.Parts?
      #expect(check.fault(in: token, Self.expectation(.login), now: Self.now, parts: &parts) == nil)
      return parts.flatMap { keys.isValid($0) }
    }
    let token = try Self.token(payload: Self.login())
    #expect(isValid(token) == true)
    #expect(isValid(try Self.token(payload: Self.login(), key: P256.Signing.PrivateKey())) == false)
    #expect(isValid(String(token.dropLast(4))) == false)
    #expect(isValid(try Self.token(header: #"{"typ":"JWT","alg":"ES256","kid":"k2"}"#, payload: Self.login())) == nil)
    #expect(PublishedKeys(jwkSet: "no") == nil)
  }
}
