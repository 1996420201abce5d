// R34: what was sealed opens for the same context and keys, and for nothing else.

import Crypto
import Testing

@testable import TouchstoneCrypto

private let plaintext = Array("evaluation".utf8)
private let context = Array("caller application".utf8)

@Suite struct SealerTests {
  private let sealer = Sealer(keys: SealingKeys(active: .random()))

  @Test(arguments: [0, 1, 15, 16, 17, 1000])
  func `a sealed text opens`(count: Int) {  // R34
    let text = [UInt8](repeating: 0x5a, count: count)
    let sealed = sealer.seal(text, context: context, at: 0)
    #expect(sealed.count == count + Sealer.overheadByteCount)
    #expect(sealer.open(sealed, context: context) == text)
  }

  @Test func `no altered byte opens`() {  // R34
    let sealed = sealer.seal(plaintext, context: context, at: 0)
    for index in sealed.indices {
      for bit in 0..<8 {
        var altered = sealed
        altered[index] ^= 1 << UInt8(bit)
        #expect(sealer.open(altered, context: context) == nil, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func `nothing cut off or appended opens`() {
    let sealed = sealer.seal(plaintext, context: context, at: 0)
    for count in 0..<sealed.count {
      #expect(sealer.open(Array(sealed.prefix(count)), context: context) == nil)
    }
    #expect(sealer.open(sealed + [0], context: context) == nil)
  }

  @Test func `another context does not open`() {  // R34
    let sealed = sealer.seal(plaintext, context: context, at: 0)
    #expect(sealer.open(sealed, context: []) == nil)
    #expect(sealer.open(sealed, context: context + [0]) == nil)
  }

  @Test func `an unknown key does not open`() {
    let stranger = Sealer(keys: SealingKeys(active: .random()))
    #expect(sealer.open(stranger.seal(plaintext, context: context, at: 0), context: context) == nil)
  }

  @Test func `keys rotate with overlap`() {
    let (old, new) = (SealingKey.random(), SealingKey.random())
    let before = Sealer(keys: SealingKeys(active: old))
    let announced = Sealer(keys: SealingKeys(active: old, others: [new]))
    let rotated = Sealer(keys: SealingKeys(active: new, others: [old]))
    let after = Sealer(keys: SealingKeys(active: new))

    let early = before.seal(plaintext, context: context, at: 0)
    let late = rotated.seal(plaintext, context: context, at: 0)
    #expect(rotated.open(early, context: context) == plaintext)
    #expect(announced.open(late, context: context) == plaintext)
    #expect(after.open(late, context: context) == plaintext)
    #expect(before.open(late, context: context) == nil)
    #expect(after.open(early, context: context) == nil)
  }

  @Test func `equal texts are sealed differently`() {
    let seals = (0..<100).map { _ in sealer.seal(plaintext, context: context, at: 0) }
    #expect(Set(seals).count == seals.count)
    #expect(Set(seals.map { $0[5..<21] }).count == seals.count, "salts")
    #expect(Set(seals.map { $0[21..<33] }).count == seals.count, "nonces")
  }

  @Test func `the format is as documented`() throws {
    let keyBytes = randomBytes(SealingKey.byteCount)
    let sealing = try Sealer(keys: SealingKeys(active: SealingKey(bytes: keyBytes)))
    let sealed = sealing.seal(plaintext, context: context, at: 0)

    let key = SymmetricKey(data: keyBytes)
    let id = HMAC<SHA256>.authenticationCode(for: Array("touchstone sealing key id".utf8), using: key).prefix(4)
    #expect(Array(sealed.prefix(5)) == [1] + id)
    let messageKey = HMAC<SHA256>.authenticationCode(
      for: Array("touchstone sealed message 1".utf8) + sealed[5..<21], using: key)
    let box = try AES.GCM.SealedBox(combined: sealed[21...])
    #expect(try Array(AES.GCM.open(box, using: SymmetricKey(data: messageKey), authenticating: context)) == plaintext)
  }

  @Test(arguments: [[], [UInt8](repeating: 1, count: 31), randomBytes(33), [UInt8](repeating: 0, count: 32)])
  func `what is not 32 random bytes is no key`(bytes: [UInt8]) {
    let error = #expect(throws: CryptoError.self) { try SealingKey(bytes: bytes) }
    #expect(error?.code == .invalidSecret)
  }
}
