// R31: which bytes are a device's public key.

import Crypto
import Testing
import TouchstoneCrypto

/// The key of RFC 6979 A.2.5.
private let x = hex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")
private let y = hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
private let infoPrefix = hex("3059 3013 06072a8648ce3d0201 06082a8648ce3d030107 034200")
private let compressedInfoPrefix = hex("3039 3013 06072a8648ce3d0201 06082a8648ce3d030107 032200")
private let fieldPrime = hex("FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF")

@Suite struct P256PublicKeyTests {
  @Test(arguments: [
    [0x04] + x + y,
    [0x03] + x,
    infoPrefix + [0x04] + x + y,
    compressedInfoPrefix + [0x03] + x,
  ])
  func `all encodings of one key read as the same`(bytes: [UInt8]) throws {  // R31
    let key = try P256PublicKey(bytes: bytes)
    #expect(key.x963 == [0x04] + x + y)
    #expect(try key == P256PublicKey(bytes: [0x04] + x + y))
  }

  @Test func `a key in PEM is refused by that name`() {
    let pem = Array(P256.Signing.PrivateKey().publicKey.pemRepresentation.utf8)
    let error = #expect(throws: CryptoError.self) { try P256PublicKey(bytes: pem) }
    #expect(error?.message == "public key: PEM; send DER or X9.63")
  }

  @Test func `the sign of y tells compressed keys apart`() throws {
    let key = try P256PublicKey(bytes: [0x02] + x)
    #expect(Array(key.x963[1..<33]) == x)
    #expect(Array(key.x963[33..<65]) != y)
  }

  @Test func `what swift-crypto exports is read`() throws {
    let key = P256.Signing.PrivateKey().publicKey
    let expected = Array(key.x963Representation)
    #expect(try P256PublicKey(bytes: expected).x963 == expected)
    #expect(try P256PublicKey(bytes: Array(key.compressedRepresentation)).x963 == expected)
    #expect(try P256PublicKey(bytes: Array(key.derRepresentation)).x963 == expected)
  }

  @Test(
    arguments: [
      ("empty", []),
      ("the identity", [0x00]),
      ("the identity, padded", [UInt8](repeating: 0, count: 65)),
      ("the identity in an info", infoPrefix + [UInt8](repeating: 0, count: 65)),
      ("coordinates of zero", [0x04] + [UInt8](repeating: 0, count: 64)),
      ("off the curve", [0x04] + x + y.dropLast() + [0x98]),
      ("coordinates swapped", [0x04] + y + x),
      ("x is the prime", [0x04] + fieldPrime + y),
      ("compressed, x is the prime", [0x02] + fieldPrime),
      ("compressed, x on the twist", [0x02] + [UInt8](repeating: 0, count: 31) + [0x01]),
      ("hybrid", [0x07] + x + y),
      ("raw without a mark", x + y),
      ("unknown mark", [0x05] + x + y),
      ("compressed mark, both coordinates", [0x03] + x + y),
      ("uncompressed mark, x alone", [0x04] + x),
      ("one byte short", [0x04] + x + y.dropLast()),
      ("trailing byte", [0x04] + x + y + [0x00]),
      ("info with a trailing byte", infoPrefix + [0x04] + x + y + [0x00]),
      ("info, one byte short", infoPrefix + [0x04] + x + y.dropLast()),
      ("compressed point in an uncompressed info", infoPrefix + [0x03] + x),
      ("uncompressed point in a compressed info", compressedInfoPrefix + [0x04] + x + y),
    ] as [(String, [UInt8])])
  func `everything else is refused`(what: String, bytes: [UInt8]) {  // R31
    expectRefusal(of: bytes)
  }

  @Test func `no byte of the info before the point may differ`() {
    for index in infoPrefix.indices {
      var bytes = infoPrefix + [0x04] + x + y
      bytes[index] ^= 0x01
      expectRefusal(of: bytes)
    }
  }

  @Test func `other curves and algorithms are refused`() {  // R31
    expectRefusal(of: Array(P384.Signing.PrivateKey().publicKey.derRepresentation))
    expectRefusal(of: Array(P521.Signing.PrivateKey().publicKey.derRepresentation))
    expectRefusal(of: Array(P384.Signing.PrivateKey().publicKey.x963Representation))
    expectRefusal(of: Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation))
    let secp256k1 = hex("3056 3010 06072a8648ce3d0201 06052b8104000a 034200")
    expectRefusal(of: secp256k1 + [0x04] + x + y)
    let ecdhOnly = hex("3057 3011 06052b8104010c 06082a8648ce3d030107 034200")
    expectRefusal(of: ecdhOnly + [0x04] + x + y)
  }

  private func expectRefusal(of bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    let error = #expect(throws: CryptoError.self, sourceLocation: sourceLocation) { try P256PublicKey(bytes: bytes) }
    #expect(error?.code == .invalidPublicKey, sourceLocation: sourceLocation)
  }
}
