// Uses of keys besides signing messages, against another implementation (Python's cryptography, on OpenSSL).

import Crypto
import SimulatedPhone
import Testing

@Suite("Uses of a key")
struct KeyUsesTests {
  /// SHA-256 of "recipient" as the private key.
  private static let key = {
    var generator = GivenBytes("665d0698dbc8fb95afc25c3a4d9cf280d87a585b7999243ca6008fd03258975f")
    return SoftwareKey(using: &generator)
  }()
  private static let ephemeralKey = bytes(
    "049a781ca6d055a7f30d0c9ff87936c739f6816ef5f5e72b4b946404b0a1a83b2a"
      + "c19f842945ea2bf65aa1649b2b02ff79854c8d5ecfcd403862e8a97ea66c71c1")
  private static let message = Array("pay 12.50 CNY".utf8)

  private static func bytes(_ hex: String) -> [UInt8] { GivenBytes(hex).bytes }

  // MARK: ECIES

  @Test(
    "What another implementation of Apple's ECIES encrypted is decrypted",
    arguments: [
      (ECIES(.sha1, isVectorDerived: false), "fac084d3c4338566a013ecfca8defa13f3d20db18af2bba5d2abb77917"),
      (.init(.sha1, isVectorDerived: true), "fd1132a447cdd014416e8503dbcafcd60e048c3b2d446af38d58c1af4e"),
      (.init(.sha256, isVectorDerived: false), "ee54be49d1be5959c3cb591e95c093616ffa6612b2bd8b82c92e0306d1"),
      (.init(.sha256, isVectorDerived: true), "0808659cb4b22eea4566d695c457a0c81ad0586d1cb59b43af1b250ea0"),
      (.init(.sha384, isVectorDerived: false), "71adf8968cea8c2aa4373b5d5e10d97f7add5906ac188ecd086ee0ef61"),
      (.init(.sha384, isVectorDerived: true), "b1ae2d5bca6fcf95f80c68cf23e1810f483de19ae831c0dd6c411cc2ca"),
      (.init(.sha512, isVectorDerived: false), "b684ef86ac4c75f1d63162c94a4b98474cb86d3ee3a36c610ff92bd4dc"),
      (.init(.sha512, isVectorDerived: true), "c2a68b48172fc896582cfc3c6fe1aeb32f3edb4b5608ffcba822324f1a"),
    ])
  func vectors(scheme: ECIES, ciphertext: String) {
    #expect(Self.key.decrypt(Self.ephemeralKey + Self.bytes(ciphertext), by: scheme) == Self.message)
  }

  @Test("What is encrypted, its owner alone decrypts, and only as it was encrypted")
  func roundTrip() throws {
    let schemes = KeyHash.allCases.flatMap { [ECIES($0, isVectorDerived: false), ECIES($0, isVectorDerived: true)] }
    for scheme in schemes {
      let encrypted = try #require(scheme.encrypt(Self.message, to: Self.key.publicKeyX963))
      #expect(encrypted.count == 65 + Self.message.count + 16)
      #expect(Self.key.decrypt(encrypted, by: scheme) == Self.message)
      #expect(SoftwareKey().decrypt(encrypted, by: scheme) == nil)
      #expect(scheme.encrypt(Self.message, to: Self.key.publicKeyX963) != encrypted)
      for other in schemes where other != scheme { #expect(Self.key.decrypt(encrypted, by: other) == nil) }
    }
  }

  @Test("What was altered or cut is not decrypted, whatever its length; nothing is encrypted to what is no key")
  func garbage() throws {
    let scheme = ECIES(.sha256, isVectorDerived: true)
    let encrypted = try #require(scheme.encrypt([], to: Self.key.publicKeyX963))
    #expect(Self.key.decrypt(encrypted, by: scheme) == [])
    for length in 0..<encrypted.count { #expect(Self.key.decrypt(Array(encrypted.prefix(length)), by: scheme) == nil) }
    for place in encrypted.indices {
      var altered = encrypted
      altered[place] ^= 1
      #expect(Self.key.decrypt(altered, by: scheme) == nil)
    }
    #expect(scheme.encrypt(Self.message, to: [4] + [UInt8](repeating: 7, count: 64)) == nil)
    #expect(scheme.encrypt(Self.message, to: []) == nil)
  }

  // MARK: Agreement

  @Test("Agreement, and X9.63's derivation from it")
  func agreement() {
    let secret = "1401b44cebcef839a56c82b1515603969753e59ecae9a0247e70cf9596d5a1cf"
    #expect(Self.key.agree(with: Self.ephemeralKey) == Self.bytes(secret))
    let derived =
      "c3c2f3e8c9c807cfdf4a4adecdb9ee11e2e6545b343f700bdd8631edb9984e0b28e6aea98bea061d9bcd1c27cadeea37"
    let derivation = KeyDerivation(.sha256, sharedInfo: Array("info".utf8), byteCount: 48)
    #expect(Self.key.agree(with: Self.ephemeralKey, deriving: derivation) == Self.bytes(derived))
    #expect(Self.key.agree(with: [UInt8](repeating: 4, count: 65)) == nil)
  }

  // MARK: Digests

  @Test("A signed digest verifies as the message's signature does", arguments: KeyHash.allCases)
  func digests(hash: KeyHash) throws {
    let digest = hash.digest(of: Self.message)
    #expect(digest.count == hash.byteCount)
    for format in [SignatureFormat.x962, .rfc4754] {
      let signature = Self.key.sign(digest: digest, format: format)
      let isValid = { SoftwareKey.isValid($0, format, ofDigest: $1, by: Self.key.publicKeyX963) }
      #expect(isValid(signature, digest))
      #expect(!isValid(signature, Array(digest.reversed())))
      #expect(!isValid([], digest))
      #expect(format == .x962 || signature.count == 64)
    }
    let publicKey = try P256.Signing.PublicKey(x963Representation: Self.key.publicKeyX963)
    let signature = try P256.Signing.ECDSASignature(
      derRepresentation: Self.key.sign(digest: digest, format: .x962))
    let isValid =
      switch hash {
      case .sha1: publicKey.isValidSignature(signature, for: Insecure.SHA1.hash(data: Self.message))
      case .sha256: publicKey.isValidSignature(signature, for: Self.message)
      case .sha384: publicKey.isValidSignature(signature, for: SHA384.hash(data: Self.message))
      case .sha512: publicKey.isValidSignature(signature, for: SHA512.hash(data: Self.message))
      }
    #expect(isValid)
  }
}

/// The bytes that are given, eight at a time.
private struct GivenBytes: RandomNumberGenerator {
  let bytes: [UInt8]
  private var offset = 0

  init(_ hex: String) {
    let digits = Array(hex)
    bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
  }

  mutating func next() -> UInt64 {
    defer { offset += 8 }
    return bytes[offset..<(offset + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
