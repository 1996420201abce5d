import Crypto
import SimulatedPhone
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
      var generator = SeededGenerator(state: 7)
      return HybridKey(using: &generator)
    }
    #expect(keys[0].p256.publicKeyX963 == keys[1].p256.publicKeyX963)
    #expect(keys[0].mlDSA65PublicKey == keys[1].mlDSA65PublicKey)
  }

  private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }
}
