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

  @Test(
    arguments: [
      ([], [], true), ([1], [1], true), ([1, 2, 3], [1, 2, 3], true),
      ([1], [], false), ([1, 2], [1, 3], false), ([1, 2], [2, 2], false), ([0], [0, 0], false),
    ] as [([UInt8], [UInt8], Bool)])
  func `bytes compare`(left: [UInt8], right: [UInt8], isEqual: Bool) {
    #expect(constantTimeEquals(left, right) == isEqual)
  }
}
