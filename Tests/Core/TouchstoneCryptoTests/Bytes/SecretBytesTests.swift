import Testing

@testable import TouchstoneCrypto

/// Nothing of a password stays behind, or shows.
struct SecretBytesTests {
  @Test func wipedBytesAreZero() {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
    defer { buffer.deallocate() }
    buffer.initializeMemory(as: UInt8.self, repeating: 7)
    SecretBytes.wipe(buffer)
    #expect(buffer.allSatisfy { $0 == 0 })
  }

  @Test func comparisonLooksAtEveryByte() {
    let secret = SecretBytes([1, 2, 3])
    #expect(secret.isEqual(to: SecretBytes([1, 2, 3])))
    for other: [UInt8] in [[], [1, 2], [1, 2, 3, 4], [0, 2, 3], [1, 0, 3], [1, 2, 0]] {
      #expect(!secret.isEqual(to: SecretBytes(other)))
    }
    #expect(SecretBytes([]).isEqual(to: SecretBytes([])))
  }

  @Test func noDescriptionShowsThem() {
    let secret = SecretBytes("hunter2".utf8)
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), dumped] {
      #expect(!text.contains("hunter2") && !text.contains("104"))
    }
  }
}
