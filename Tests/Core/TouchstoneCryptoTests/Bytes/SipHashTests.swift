// R37: the digest that what is unknown has its kind by.

import Testing

@testable import TouchstoneCrypto

@Suite struct SipHashTests {
  /// The paper's key, of 0 to 15. The paper's answer for the 15 bytes 0 to 14; the others by `openssl mac SipHash`.
  @Test(
    arguments: [
      ("", 0x726F_DB47_DD0E_0E31), ("a", 0x2BA3_E8E9_A711_48CA), ("\u{1}alice", 0x5192_E014_0C33_1168),
      ("1234567", 0x6EF9_42DE_1D1A_4D4B), ("12345678", 0x0213_0609_CAEA_37EB),
      (String(decoding: UInt8(0)...14, as: UTF8.self), 0xA129_CA61_49BE_45E5),
      ("seeded0123456789abcdef", 0xA49E_08C0_EED7_1C3A),
    ] as [(String, UInt64)])
  func `it is SipHash-2-4`(text: String, digest: UInt64) {
    #expect(SipHash(key: Array(0...15)).digest(of: text) == digest)
  }

  @Test func `purpose and pepper make the key`() throws {
    let pepper = Pepper.random()
    let digests = [
      pepper.sipHash(purpose: "a").digest(of: "text"), pepper.sipHash(purpose: "b").digest(of: "text"),
      Pepper.random().sipHash(purpose: "a").digest(of: "text"),
    ]
    #expect(Set(digests).count == 3)
    #expect(pepper.sipHash(purpose: "a").digest(of: "text") == digests[0])
  }

  @Test func `it shows no key`() {
    let hash = SipHash(key: Array(repeating: 0xA7, count: 16))
    var text = String(reflecting: hash)
    dump(hash, to: &text)
    #expect(!text.contains("\(UInt64(0xA7A7_A7A7_A7A7_A7A7))"))
  }
}
