// An identity provider's word on a person (OpenID Connect Core 1.0 §3.1.3.7), judged by its bytes, the provider's keys
// and a time.

internal import Encodings
internal import FoundationEssentials

/// The claims of an ID token that holds.
package struct IDToken: Sendable, Hashable {
  package let subject: String
  /// The value of the claim that names the operator.
  package let name: String
  package let groups: [String]

  /// Some hundred groups.
  package static let maximumBytes = 32 << 10
  /// Clocks of the provider and of this machine may differ by it.
  package static let leewaySeconds: Int64 = 60
  /// OpenID Connect Core 1.0 §2: a subject has at most 255 ASCII characters. No character hides another one in the
  /// audit log.
  private static let nameBytes = 1...255

  package struct Expectation: Sendable {
    package var issuer: String
    package var clientID: String
    package var nonce: String
    package var nameClaim: String
    package var groupsClaim: String

    package init(issuer: String, clientID: String, nonce: String, nameClaim: String, groupsClaim: String) {
      (self.issuer, self.clientID, self.nonce) = (issuer, clientID, nonce)
      (self.nameClaim, self.groupsClaim) = (nameClaim, groupsClaim)
    }
  }

  /// Why a token does not hold: for the log, without any of its content.
  package struct Refusal: Error, Sendable, Hashable {
    package let reason: String
    /// None of the keys has the token's id: the provider may have new ones.
    package var isOfUnknownKey = false

    init(_ reason: String, isOfUnknownKey: Bool = false) {
      (self.reason, self.isOfUnknownKey) = (reason, isOfUnknownKey)
    }
  }

  /// - Parameters:
  ///   - token: a JWS in its compact form (RFC 7515).
  ///   - now: seconds since 1970.
  package init(
    _ token: String, keys: ProviderKeys, _ expected: Expectation, at now: Int64
  ) throws(Refusal) {
    // First the signature: nothing of a stranger's claims is read.
    let claims = try Self.claims(of: token, by: keys)
    guard claims["iss"]?.text.map({ $0.isSame(as: expected.issuer) }) == true else { throw Refusal("iss differs") }
    guard case let audiences = claims["aud"]?.texts ?? [],
      audiences.contains(where: { $0.isSame(as: expected.clientID) })
    else { throw Refusal("aud does not name this client") }
    let party = claims["azp"]?.text
    guard party.map({ $0.isSame(as: expected.clientID) }) ?? (audiences.count == 1 && claims["azp"] == nil) else {
      throw Refusal("azp is not this client")
    }
    guard claims["nonce"]?.text.map({ $0.isSame(as: expected.nonce) }) == true else { throw Refusal("nonce differs") }
    guard let end = claims["exp"]?.seconds, let beginning = claims["iat"]?.seconds else {
      throw Refusal("exp or iat is missing")
    }
    guard now < end + Self.leewaySeconds else { throw Refusal("it has expired") }
    guard beginning <= now + Self.leewaySeconds, (claims["nbf"]?.seconds ?? beginning) <= now + Self.leewaySeconds
    else {
      throw Refusal("it is from a time to come")
    }
    guard let subject = claims["sub"]?.text, Self.isName(subject) else { throw Refusal("sub names nobody") }
    guard let name = claims[expected.nameClaim]?.text, Self.isName(name) else {
      throw Refusal("\(expected.nameClaim) is missing, or no visible ASCII of 1 to 255 bytes")
    }
    guard expected.nameClaim != "email" || claims["email_verified"]?.isTrue == true else {
      throw Refusal("email is not verified")
    }
    (self.subject, self.name, groups) = (subject, name, claims[expected.groupsClaim]?.texts ?? [])
  }

  private static func isName(_ text: String) -> Bool {
    nameBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String?
    var typ: String?
    /// Extensions that a reader must understand; it understands none.
    var crit: [String]?
  }

  private static func claims(of token: String, by keys: ProviderKeys) throws(Refusal) -> [String: ClaimValue] {
    guard token.utf8.count <= maximumBytes else { throw Refusal("it has more than \(maximumBytes) bytes") }
    let parts = Array(token.utf8).split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let headerBytes = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]),
      let header = try? JSONDecoder().decode(Header.self, from: Data(headerBytes))
    else { throw Refusal("it is no JWS") }
    guard header.crit == nil, header.typ.map({ $0.lowercased() == "jwt" }) ?? true else {
      throw Refusal("it is no ID token")
    }
    let signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    guard let algorithm = ProviderKeys.Algorithm(rawValue: header.alg) else {
      throw Refusal("its algorithm is neither RS256 nor ES256")
    }
    guard let key = keys.key(header.kid, algorithm) else {
      throw Refusal("the provider has no such key", isOfUnknownKey: true)
    }
    guard key.isValid(signature, of: signed) else { throw Refusal("its signature is not valid") }
    guard let claims = try? JSONDecoder().decode([String: ClaimValue].self, from: Data(payload)) else {
      throw Refusal("its claims are no JSON")
    }
    return claims
  }
}

/// A claim as far as this reader looks at it.
private enum ClaimValue: Decodable {
  case text(String)
  case texts([String])
  case number(Double)
  case flag(Bool)
  case other

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let flag = try? value.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let texts = try? value.decode([String].self) {
      self = .texts(texts)
    } else {
      self = .other
    }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
  /// One text counts as a list of one.
  var texts: [String] {
    switch self {
    case .text(let text): [text]
    case .texts(let texts): texts
    default: []
    }
  }
  /// `nil`: not a time of the years 1970 to 9999.
  var seconds: Int64? {
    guard case .number(let number) = self, (0...253_402_300_799).contains(number) else { return nil }
    return Int64(number)
  }
  var isTrue: Bool { if case .flag(true) = self { true } else { false } }
}

extension String {
  /// Byte by byte: Swift takes two spellings of a text for one.
  fileprivate func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
