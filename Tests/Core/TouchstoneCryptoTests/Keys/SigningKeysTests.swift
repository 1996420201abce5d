// R40: key ids, PEM and the published key set.

import Crypto
import Encodings
import Testing

@testable import TouchstoneCrypto

/// One key as `openssl genpkey` and `openssl ec` write it. It signs nothing but tests.
private enum OpenSSLKey {
  static let pkcs8 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMZp41fY20oXsL7Sl
    86mw6erZisHQ9cXidMtME7hm7vyhRANCAAQTRZfZJEwWjpm/hhNikAg/OLnf2VMh
    e40Mn3Noa5QCOI9+5GVM7obXDMdm3C3ImYmS+0KqDgMt/mXF5XO+XR1J
    -----END PRIVATE KEY-----

    """
  static let sec1 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIDGaeNX2NtKF7C+0pfOpsOnq2YrB0PXF4nTLTBO4Zu78oAoGCCqGSM49
    AwEHoUQDQgAEE0WX2SRMFo6Zv4YTYpAIPzi539lTIXuNDJ9zaGuUAjiPfuRlTO6G
    1wzHZtwtyJmJkvtCqg4DLf5lxeVzvl0dSQ==
    -----END EC PRIVATE KEY-----

    """
  static let publicKey = hex(
    """
    04 134597d9244c168e99bf86136290083f38b9dfd953217b8d0c9f73686b940238
    8f7ee4654cee86d70cc766dc2dc8998992fb42aa0e032dfe65c5e573be5d1d49
    """)
}

@Suite struct SigningKeysTests {
  @Test(arguments: [
    // RFC 9449 section 6.1
    (
      "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs", "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
      "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
    ),
    // RFC 7515 appendix A.3
    (
      "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U"
    ),
  ])
  func `a key id is the thumbprint of RFC 7638`(x: String, y: String, thumbprint: String) throws {  // R40
    let point = try #require(Base64URL.decode(x)) + #require(Base64URL.decode(y))
    #expect(try P256PublicKey(bytes: [0x04] + point).thumbprint == thumbprint)
  }

  @Test(arguments: [OpenSSLKey.pkcs8, OpenSSLKey.sec1])
  func `keys that openssl wrote are read`(pem: String) throws {
    let key = try SigningKey(pem: pem)
    #expect(key.publicKey.x963 == OpenSSLKey.publicKey)
    #expect(key.pem == OpenSSLKey.pkcs8)
  }

  @Test(arguments: [
    "", "nonsense", OpenSSLKey.pkcs8.replacing("PRIVATE", with: "PUBLIC"), String(OpenSSLKey.pkcs8.dropFirst(60)),
    OpenSSLKey.pkcs8.replacing("MIGH", with: "MIGI"), P384.Signing.PrivateKey().pemRepresentation,
    P256.Signing.PrivateKey().publicKey.pemRepresentation,
  ])
  func `other files are no signing key`(pem: String) {
    let error = #expect(throws: CryptoError.self) { try SigningKey(pem: pem) }
    #expect(error?.code == .invalidPrivateKey)
  }

  @Test func `a new key survives its PEM`() throws {
    let key = SigningKey.random()
    #expect(try SigningKey(pem: key.pem).keyID == key.keyID)
    #expect(SigningKey.random().keyID != key.keyID)
  }

  @Test func `the key set holds every accepted key's public half and no more`() throws {  // R40
    let key = try SigningKey(pem: OpenSSLKey.pkcs8)
    #expect(
      SigningKeys(active: key).jwkSet
        == #"{"keys":[{"kty":"EC","crv":"P-256","x":"E0WX2SRMFo6Zv4YTYpAIPzi539lTIXuNDJ9zaGuUAjg","#
        + #""y":"j37kZUzuhtcMx2bcLciZiZL7QqoOAy3-ZcXlc75dHUk","use":"sig","alg":"ES256","kid":"\#(key.keyID)"}]}"#)
    let other = SigningKey.random()
    let both = SigningKeys(active: key, others: [other])
    #expect(both.jwkSet == #"{"keys":[\#(key.jwk),\#(other.jwk)]}"#)
  }
}
