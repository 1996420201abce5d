import Crypto
import Foundation
import Testing

@testable import TouchstoneAttestation

/// An ID token holds if each of these claims does. Tests/Acceptance/test_console_openid.py signs with RSA.
struct IDTokenTests {
  private static let now: Int64 = 1_800_000_000
  private static let key = P256.Signing.PrivateKey()
  private static let expected = IDToken.Expectation(
    issuer: "https://sso.example", clientID: "console", nonce: "n", nameClaim: "sub", groupsClaim: "groups")

  private static func base64url(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  private static func keys(_ changes: [String: String] = [:], also others: String = "") throws -> ProviderKeys {
    let point = key.publicKey.rawRepresentation
    var own = [
      "kty": "EC", "crv": "P-256", "kid": "1", "x": base64url(point.prefix(32)), "y": base64url(point.suffix(32)),
    ]
    own.merge(changes) { $1 }
    let text = String(decoding: try JSONEncoder().encode(own), as: UTF8.self)
    return try #require(ProviderKeys(Array(#"{"keys":[\#(others)\#(text)]}"#.utf8)))
  }

  /// - Parameter claims: in place of the right ones; `nil` leaves one out.
  private static func token(
    _ claims: [String: Any?] = [:], header: [String: Any] = ["alg": "ES256", "kid": "1", "typ": "JWT"],
    by key: P256.Signing.PrivateKey = key
  ) throws -> String {
    var all: [String: Any?] = [
      "iss": "https://sso.example", "aud": "console", "nonce": "n", "sub": "anna-1", "exp": now + 300, "iat": now,
      "groups": ["support", "all"],
    ]
    all.merge(claims) { $1 }
    let parts = try [header, all.compactMapValues { $0 }].map {
      base64url(try JSONSerialization.data(withJSONObject: $0))
    }
    let signed = parts.joined(separator: ".")
    return "\(signed).\(base64url(try key.signature(for: Data(signed.utf8)).rawRepresentation))"
  }

  private static func refusal(
    _ token: String, keys: ProviderKeys? = nil, expected: IDToken.Expectation = expected
  ) throws -> String? {
    do throws(IDToken.Refusal) {
      _ = try IDToken(token, keys: try! keys ?? Self.keys(), expected, at: now)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func aRightTokenNamesPersonAndGroups() throws {
    let token = try IDToken(try Self.token(), keys: try Self.keys(), Self.expected, at: Self.now)
    #expect((token.subject, token.name) == ("anna-1", "anna-1"))
    #expect(token.groups == ["support", "all"])
    // One group may come as a text, and none may come at all.
    for (groups, read) in [("admin", ["admin"]), (nil, []), (7, [])] as [(Any?, [String])] {
      let token = try IDToken(try Self.token(["groups": groups]), keys: try Self.keys(), Self.expected, at: Self.now)
      #expect(token.groups == read)
    }
  }

  @Test(arguments: [
    ("iss", "https://sso.example/" as (any Sendable)?, "iss differs"), ("iss", nil, "iss differs"),
    ("aud", "another", "aud does not name this client"), ("aud", nil, "aud does not name this client"),
    ("aud", ["console", "another"], "azp is not this client"), ("azp", "another", "azp is not this client"),
    ("azp", 7, "azp is not this client"), ("nonce", "m", "nonce differs"), ("nonce", nil, "nonce differs"),
    ("exp", now - 60, "it has expired"), ("exp", nil, "exp or iat is missing"),
    ("exp", "never", "exp or iat is missing"),
    ("exp", 1e300, "exp or iat is missing"), ("iat", now + 61, "it is from a time to come"),
    ("iat", nil, "exp or iat is missing"), ("nbf", now + 61, "it is from a time to come"),
    ("sub", "", "sub names nobody"), ("sub", nil, "sub names nobody"), ("sub", "a\nb", "sub names nobody"),
    ("sub", "\u{202E}anna", "sub names nobody"),
  ])
  func eachClaimMustHold(_ claim: String, _ value: (any Sendable)?, _ reason: String) throws {
    #expect(try Self.refusal(try Self.token([claim: value])) == reason)
  }

  @Test(arguments: [
    ("exp", now - 59 as any Sendable), ("iat", now + 60), ("aud", ["console"]), ("azp", "console"),
  ])
  func withinTheLeewayAClaimHolds(_ claim: String, _ value: any Sendable) throws {
    #expect(try Self.refusal(try Self.token([claim: value])) == nil)
  }

  @Test func anEmailMustBeVerified() throws {
    var expected = Self.expected
    expected.nameClaim = "email"
    let claims: [(Any?, String?)] = [(true, nil), (false, "email is not verified"), (nil, "email is not verified")]
    for (isVerified, reason) in claims {
      let token = try Self.token(["email": "anna@example.org", "email_verified": isVerified])
      #expect(try Self.refusal(token, expected: expected) == reason)
    }
  }

  @Test(arguments: ["none", "HS256", "RS256", "ES384", "PS256", "es256", ""])
  func noOtherAlgorithmIsTaken(_ algorithm: String) throws {
    #expect(try Self.refusal(try Self.token(header: ["alg": algorithm, "kid": "1"])) != nil)
  }

  @Test func aTokenWithoutASignatureIsNone() throws {
    let token = try Self.token(header: ["alg": "none"])
    let parts = token.split(separator: ".")
    for text in ["\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])", token + ".", "", "...", "a.b.c"] {
      #expect(try Self.refusal(text) != nil, "\(text)")
    }
  }

  @Test func anotherKeysSignatureIsRefused() throws {
    #expect(try Self.refusal(try Self.token(by: P256.Signing.PrivateKey())) == "its signature is not valid")
    let token = try Self.token(header: ["alg": "ES256", "kid": "2"])
    #expect(try Self.refusal(token) == "the provider has no such key")
    // An access token is signed by the same key.
    #expect(
      try Self.refusal(try Self.token(header: ["alg": "ES256", "kid": "1", "typ": "at+jwt"])) == "it is no ID token")
    let extended: [String: Any] = ["alg": "ES256", "kid": "1", "crit": ["b64"], "b64": false]
    #expect(try Self.refusal(try Self.token(header: extended)) == "it is no ID token")
  }

  @Test func withoutAKeysIDThereMustBeOneKey() throws {
    let token = try Self.token(header: ["alg": "ES256"])
    #expect(try Self.refusal(token) == nil)
    let point = Self.base64url(P256.Signing.PrivateKey().publicKey.rawRepresentation.prefix(32))
    // A point that is not on the curve is no key, and a key for encryption does not sign.
    let useless = #"{"kty":"EC","crv":"P-256","kid":"1","x":"\#(point)","y":"\#(point)"},{"kty":"oct","k":"AAAA"},"#
    #expect(try Self.refusal(token, keys: try Self.keys(also: useless)) == nil)
    #expect(try Self.refusal(token, keys: try Self.keys(["use": "enc"])) == "the provider has no such key")
    #expect(try Self.refusal(token, keys: try Self.keys(["alg": "ES384"])) == "the provider has no such key")
    let second = P256.Signing.PrivateKey().publicKey.rawRepresentation
    let twin = """
      {"kty":"EC","crv":"P-256","kid":"2","x":"\(Self.base64url(second.prefix(32)))",\
      "y":"\(Self.base64url(second.suffix(32)))"},
      """
    #expect(try Self.refusal(token, keys: try Self.keys(also: twin)) == "the provider has no such key")
  }

  @Test(arguments: ["", "{}", "[]", #"{"keys":1}"#, #"{"keys":[{"kid":"1"}]}"#])
  func whatIsNoKeySetIsRefused(_ text: String) {
    #expect(ProviderKeys(Array(text.utf8)) == nil)
  }

  @Test func aKeySetOfTooManyKeysIsRefused() {
    func set(_ count: Int) -> [UInt8] {
      Array(#"{"keys":[\#([String](repeating: #"{"kty":"oct"}"#, count: count).joined(separator: ","))]}"#.utf8)
    }
    #expect(ProviderKeys(set(ProviderKeys.maximumCount)) != nil)
    #expect(ProviderKeys(set(ProviderKeys.maximumCount + 1)) == nil)
  }

  @Test(arguments: [
    ("", "openid"), (#","scopes_supported":["openid","groups","phone"]"#, "openid groups"),
    (#","scopes_supported":["email","profile","groups"]"#, "openid profile email groups"),
  ])
  func noScopeIsAskedForThatTheProviderLacks(_ more: String, _ scope: String) {
    let text = """
      {"issuer":"https://sso.example","authorization_endpoint":"","token_endpoint":"","jwks_uri":""\(more)}
      """
    #expect(ProviderDescription(Array(text.utf8), of: "https://sso.example")?.scope == scope)
  }

  @Test func aDescriptionOfAnotherIssuerIsNone() {
    let text = """
      {"issuer":"https://sso.example","authorization_endpoint":"https://sso.example/a","token_endpoint":"https://sso.example/t",
      "jwks_uri":"https://sso.example/k"}
      """
    #expect(ProviderDescription(Array(text.utf8), of: "https://sso.example")?.keysURL == "https://sso.example/k")
    for issuer in ["https://sso.example/", "https://SSO.example", "https://evil.example"] {
      #expect(ProviderDescription(Array(text.utf8), of: issuer) == nil)
    }
  }
}
