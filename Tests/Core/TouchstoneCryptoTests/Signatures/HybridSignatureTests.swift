// R48: both halves of a hybrid key must have signed.

import Crypto
import Testing
import TouchstoneCrypto

@Suite struct HybridSignatureTests {
  private static let message = Array("sample".utf8)
  private let half: Half
  private let otherHalf: Half

  /// A private key and its signature over the message.
  private struct Half {
    var publicKey: [UInt8]
    var signature: [UInt8]

    static func p256() throws -> Half {
      let key = P256.Signing.PrivateKey()
      return Half(
        publicKey: Array(key.publicKey.x963Representation),
        signature: Array(try key.signature(for: message).rawRepresentation))
    }

    static func mlDSA65() throws -> Half {
      let key = try MLDSA65.PrivateKey()
      return Half(
        publicKey: Array(key.publicKey.rawRepresentation), signature: Array(try key.signature(for: message)))
    }
  }

  init() throws { (half, otherHalf) = (try Half.p256(), try Half.mlDSA65()) }

  private func check(_ half: Half, _ otherHalf: Half, message: [UInt8] = message) throws -> SignatureCheck {
    SignatureCheck(
      publicKey: try P256PublicKey(bytes: half.publicKey), signature: half.signature, message: message,
      otherHalf: .init(
        publicKey: try MLDSA65PublicKey(bytes: otherHalf.publicKey), signature: otherHalf.signature))
  }

  @Test func bothHalvesMustBeRight() throws {
    var forged = half
    forged.signature = try Half.p256().signature
    var otherForged = otherHalf
    otherForged.signature = try Half.mlDSA65().signature
    var cut = otherHalf
    cut.signature.removeLast()
    let checks = [
      try check(half, otherHalf), try check(forged, otherHalf), try check(half, otherForged), try check(half, cut),
      try check(half, otherHalf, message: Array("samplf".utf8)),
    ]
    let verdicts = [true, false, false, false, false]
    #expect(checks.map(SignatureVerifier.verify) == verdicts)
    #expect(BatchVerifier.fastest.verify(checks) == verdicts)
  }

  @Test(arguments: [0, 1, MLDSA65PublicKey.byteCount - 1, MLDSA65PublicKey.byteCount + 1])
  func aKeyOfAnotherLengthIsNone(_ count: Int) {
    #expect(throws: CryptoError.self) { try MLDSA65PublicKey(bytes: [UInt8](repeating: 1, count: count)) }
  }
}
