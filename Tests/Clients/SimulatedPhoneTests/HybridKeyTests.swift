import Crypto
import SimulatedPhone
import TestSupport
import Testing

struct HybridKeyTests {
  @Test func bothHalvesSign() throws {
    let (key, message) = (HybridKey(), [1, 2, 3] as [UInt8])
    #expect(SoftwareKey.isValid(key.p256.sign(message), of: message, by: key.p256.publicKeyX963))
    let other = try MLDSA65.PublicKey(rawRepresentation: key.mlDSA65PublicKey)
    #expect(other.isValidSignature(key.signByMLDSA65(message), for: message))
    #expect(!other.isValidSignature(key.signByMLDSA65(message), for: message + [4]))
  }

  @Test func aGeneratorMakesTheSameKeys() {
    let keys = (0..<2).map { _ in
      var generator = SeededGenerator(seed: 7)
      return HybridKey(using: &generator)
    }
    #expect(keys[0].p256.publicKeyX963 == keys[1].p256.publicKeyX963)
    #expect(keys[0].mlDSA65PublicKey == keys[1].mlDSA65PublicKey)
  }
}
