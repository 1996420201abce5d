// The keys by which the service signs tokens, as it publishes them.

internal import Crypto
internal import Encodings
internal import FoundationEssentials

package struct PublishedKeys: Sendable {
  private var keys: [String: P256.Signing.PublicKey] = [:]

  package init() {}

  /// Returns `nil` unless the text is a JWK Set (RFC 7517). Keys of other kinds are left out.
  package init?(jwkSet: String) {
    guard let set = try? JSONDecoder().decode(JWKSet.self, from: Data(jwkSet.utf8)) else { return nil }
    for key in set.keys where key.kty == "EC" && key.crv == "P-256" {
      guard let id = key.kid, let x = key.x.flatMap({ Base64URL.decode($0) }),
        let y = key.y.flatMap({ Base64URL.decode($0) }),
        let publicKey = try? P256.Signing.PublicKey(rawRepresentation: x + y)
      else { continue }
      keys[id] = publicKey
    }
  }

  package var ids: [String] { keys.keys.sorted() }

  /// ES256: 64 bytes over SHA-256. `nil` if there is no such key.
  package func isValid(_ parts: TokenCheck.Parts) -> Bool? {
    guard let key = keys[parts.keyID] else { return nil }
    guard let bytes = Base64URL.decode(parts.signature[...]),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
    else { return false }
    return key.isValidSignature(signature, for: SHA256.hash(data: parts.signed))
  }

  private struct JWKSet: Decodable {
    struct Key: Decodable {
      var kty: String
      var crv: String?
      var kid: String?
      var x: String?
      var y: String?
    }

    var keys: [Key]
  }
}
