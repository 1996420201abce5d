// SoftwareKey: what it signs, swift-crypto verifies.

import Crypto
import SimulatedPhone
import TestSupport
import Testing

@Suite struct SoftwareKeyTests {
  @Test func aSignatureVerifiesUnderThePublicKey() throws {
    let key = SoftwareKey()
    let message = Array("pay 12.50 CNY".utf8)
    let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKeyX963)
    let signature = try P256.Signing.ECDSASignature(derRepresentation: key.sign(message))
    #expect(publicKey.isValidSignature(signature, for: message))
    #expect(!publicKey.isValidSignature(signature, for: message + [0]))
  }

  /// Numbers that are short, zero or would be negative.
  @Test(arguments: [0, 1, 0x7F, 0x80, 0xFF] as [UInt8])
  func signaturesAreWrittenAsTheLibraryWritesThem(byte: UInt8) throws {
    for length in 0...32 {
      let number = [UInt8](repeating: 0, count: 32 - length) + [UInt8](repeating: byte, count: length)
      for raw in [number + number.reversed(), number.reversed() + number] {
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        #expect(SoftwareKey.der(raw) == Array(signature.derRepresentation), "\(raw)")
      }
    }
  }

  @Test func aKeptKeyIsTheSame() throws {
    let key = SoftwareKey()
    #expect(SoftwareKey(scalar: key.scalar)?.publicKeyX963 == key.publicKeyX963)
    #expect(SoftwareKey(scalar: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(SoftwareKey(scalar: [1]) == nil)
  }

  @Test func oneSeedGivesOneKey() {
    var first = SeededGenerator(seed: 1)
    var second = SeededGenerator(seed: 1)
    let key = SoftwareKey(using: &first)
    #expect(key.publicKeyX963 == SoftwareKey(using: &second).publicKeyX963)
    #expect(key.publicKeyX963 != SoftwareKey(using: &second).publicKeyX963)
  }
}
