// Random bytes, digests and comparison.

import Testing
import TouchstoneCrypto

@Suite struct BytesTests {
  @Test func `SHA-256 as in FIPS 180-4`() {
    #expect(sha256(Array("abc".utf8)) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
  }

  @Test(arguments: [0, 1, 16, 256])
  func `random bytes come in the number asked for`(count: Int) {
    #expect(randomBytes(count).count == count)
  }

  @Test func `random bytes do not repeat`() {
    #expect(Set((0..<100).map { _ in randomBytes(16) }).count == 100)
  }
}
