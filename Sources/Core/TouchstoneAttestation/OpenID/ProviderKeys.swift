internal import Crypto
internal import Encodings
internal import FoundationEssentials

/// The keys with which an identity provider signs (RFC 7517). Keys of other kinds are passed over.
package struct ProviderKeys: Sendable {
  /// A key serves for its own kind's algorithm alone: a token cannot have a public key taken for a shared secret.
  enum Algorithm: String {
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  /// A provider has a few; each costs a check before a token can be verified.
  package static let maximumCount = 32

  struct Key: Sendable {
    fileprivate enum Kind: Sendable {
      case rsa(PublicKey)
      case p256(P256.Signing.PublicKey)
    }

    fileprivate let id: String?
    fileprivate let kind: Kind

    fileprivate var algorithm: Algorithm {
      switch kind {
      case .rsa: .rs256
      case .p256: .es256
      }
    }

    func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
      switch kind {
      case .rsa(let key): return (try? key.verify(signature, of: message, .rsa(.sha256), "token")) != nil
      case .p256(let key):
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: message)
      }
    }
  }

  private let keys: [Key]

  private struct JSONWebKey: Decodable {
    var kty: String
    var kid: String?
    var use: String?
    var alg: String?
    var n: String?
    var e: String?
    var crv: String?
    var x: String?
    var y: String?
  }

  private struct Document: Decodable {
    var keys: [JSONWebKey]
  }

  /// - Parameter document: a JWK Set. `nil`: it is none, or has more than `maximumCount` keys.
  package init?(_ document: [UInt8]) {
    guard let read = try? JSONDecoder().decode(Document.self, from: Data(document)),
      read.keys.count <= Self.maximumCount
    else { return nil }
    keys = read.keys.compactMap { Self.key($0) }
  }

  private static func key(_ key: JSONWebKey) -> Key? {
    guard key.use == nil || key.use == "sig" else { return nil }
    func bytes(_ text: String?) -> [UInt8]? { text.flatMap { Base64URL.decode($0) } }
    switch key.kty {
    case "RSA" where key.alg == nil || key.alg == Algorithm.rs256.rawValue:
      guard let modulus = bytes(key.n), let exponent = bytes(key.e), modulus.first.map({ $0 > 0 }) == true,
        exponent.first.map({ $0 > 0 }) == true,
        let rsa = try? PublicKey(subjectPublicKeyInfo: SubjectPublicKeyInfo.rsa(modulus: modulus, exponent: exponent))
      else { return nil }
      return Key(id: key.kid, kind: .rsa(rsa))
    case "EC" where key.crv == "P-256" && (key.alg == nil || key.alg == Algorithm.es256.rawValue):
      guard let x = bytes(key.x), let y = bytes(key.y), x.count == 32, y.count == 32,
        let point = try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)
      else { return nil }
      return Key(id: key.kid, kind: .p256(point))
    default: return nil
    }
  }

  /// The one key that may have signed; `nil`: there is none, or a token without a key's id could be of several.
  func key(_ id: String?, _ algorithm: Algorithm) -> Key? {
    let found = keys.filter { key in
      guard let id else { return key.algorithm == algorithm }
      return key.algorithm == algorithm && key.id?.utf8.elementsEqual(id.utf8) == true
    }
    return found.count == 1 ? found[0] : nil
  }
}

/// The description that an identity provider publishes (OpenID Connect Discovery 1.0 §3).
package struct ProviderDescription: Sendable, Decodable {
  package let issuer: String
  package let authorizationEndpoint: String
  package let tokenEndpoint: String
  package let keysURL: String
  private let methods: [String]?
  private let scopes: [String]?

  /// The scopes to ask for: "openid", and others only if the provider lists them, because some refuse unknown ones.
  package var scope: String {
    (["openid"] + ["profile", "email", "groups"].filter { scopes?.contains($0) == true }).joined(separator: " ")
  }

  /// Whether the client's secret goes into a field of the request, and not into its form.
  package var takesBasicAuthentication: Bool { methods?.contains("client_secret_basic") ?? true }

  private enum CodingKeys: String, CodingKey {
    case issuer
    case authorizationEndpoint = "authorization_endpoint"
    case tokenEndpoint = "token_endpoint"
    case keysURL = "jwks_uri"
    case methods = "token_endpoint_auth_methods_supported"
    case scopes = "scopes_supported"
  }

  /// `nil`: it is none, or another issuer's (§4.3).
  package init?(_ document: [UInt8], of issuer: String) {
    guard let read = try? JSONDecoder().decode(Self.self, from: Data(document)),
      read.issuer.utf8.elementsEqual(issuer.utf8)
    else { return nil }
    self = read
  }
}

/// The answer of a token endpoint (OpenID Connect Core 1.0 §3.1.3.3).
package enum TokenAnswer {
  private struct Document: Decodable {
    var idToken: String

    enum CodingKeys: String, CodingKey {
      case idToken = "id_token"
    }
  }

  package static func idToken(in document: [UInt8]) -> String? {
    try? JSONDecoder().decode(Document.self, from: Data(document)).idToken
  }
}
