import Crypto
internal import Encodings

/// A P-256 key pair that signs tokens with ES256.
public struct SigningKey: Sendable {
  /// RFC 7638 thumbprint (SHA-256, base64url): 43 characters.
  public let keyID: String
  public let publicKey: P256PublicKey

  let privateKey: Secret<P256.Signing.PrivateKey>

  /// The first segment of every token under this key, with its final point, by use. Kept because tokens are signed
  /// often, and because a verifier accepts these bytes and no other header (RFC 8725 section 3.1).
  private let headerSegments: [[UInt8]]

  /// A new key pair.
  public static func random() -> SigningKey {
    SigningKey(P256.Signing.PrivateKey(compactRepresentable: false))
  }

  /// - Parameter pem: PKCS#8 ("PRIVATE KEY") or SEC 1 ("EC PRIVATE KEY"); else throws `.invalidPrivateKey`.
  public init(pem: String) throws(CryptoError) {
    guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
      throw CryptoError(code: .invalidPrivateKey, message: "signing key: not a P-256 private key in PEM")
    }
    self.init(key)
  }

  /// PKCS#8, as `openssl pkey` reads it, with a final newline.
  public var pem: String {
    privateKey.value.pemRepresentation + "\n"
  }

  private init(_ key: P256.Signing.PrivateKey) {
    privateKey = Secret(key)
    publicKey = P256PublicKey(key.publicKey)
    keyID = publicKey.thumbprint
    headerSegments = TokenUse.allCases.map { [keyID] in Self.headerSegment($0, keyID: keyID) }
  }

  func headerSegment(_ use: TokenUse) -> [UInt8] {
    headerSegments[use.rawValue]
  }

  /// The use in a token's header, if the header is one of this key's.
  func use(ofToken bytes: [UInt8]) -> TokenUse? {
    TokenUse.allCases.first { bytes.starts(with: headerSegment($0)) }
  }

  private static func headerSegment(_ use: TokenUse, keyID: String) -> [UInt8] {
    var header = JSONObjectWriter()
    header.write("typ", use.type)
    header.write("alg", "ES256")
    header.write("kid", keyID)
    var segment: [UInt8] = []
    Base64URL.append(header.finish(), to: &segment)
    return segment + [UInt8(ascii: ".")]
  }
}

/// One key signs; the tokens of all of them are accepted.
public struct SigningKeys: Sendable {
  let succession: KeySuccession<SigningKey>
  /// The latest first.
  public let accepted: [SigningKey]
  /// The public halves of all accepted keys, as a JWK Set (RFC 7517 section 5).
  public let jwkSet: String

  init(_ succession: KeySuccession<SigningKey>) {
    self.succession = succession
    accepted = succession.accepted
    jwkSet = "{\"keys\":[\(accepted.map(\.jwk).joined(separator: ","))]}"
  }

  /// - Parameter others: the earlier ones, the latest first.
  public init(active: SigningKey, others: [SigningKey] = []) {
    self.init(.init(active: active, others: others))
  }

  /// The key that signs. `time`: Unix seconds.
  public func active(at time: Int64) -> SigningKey { succession.active(at: time) }
}

extension SigningKey {
  /// RFC 7518 section 6.2.1, public members only.
  var jwk: String {
    var members = JSONObjectWriter()
    members.write("kty", "EC")
    members.write("crv", "P-256")
    members.write("x", Base64URL.encode(publicKey.x))
    members.write("y", Base64URL.encode(publicKey.y))
    members.write("use", "sig")
    members.write("alg", "ES256")
    members.write("kid", keyID)
    return String(decoding: members.finish(), as: UTF8.self)
  }
}

extension P256PublicKey {
  /// RFC 7638 section 3: SHA-256 over the required members in lexicographic order.
  var thumbprint: String {
    var members = JSONObjectWriter()
    members.write("crv", "P-256")
    members.write("kty", "EC")
    members.write("x", Base64URL.encode(x))
    members.write("y", Base64URL.encode(y))
    return Base64URL.encode(sha256(members.finish()))
  }
}
