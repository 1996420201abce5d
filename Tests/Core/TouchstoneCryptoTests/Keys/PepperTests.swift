// R16, R30: digests that the database alone cannot be asked for.

import Crypto
import Testing
import TouchstoneCrypto

@Suite struct PepperTests {
  private let bytes = Array(UInt8(1)...32)

  @Test func `it is HMAC-SHA-256 over the parts with their lengths`() throws {  // R30
    let message: [UInt8] =
      [0, 0, 0, 0, 0, 0, 0, 3] + "use".utf8 + [0, 0, 0, 0, 0, 0, 0, 2] + "ab".utf8 + [0, 0, 0, 0, 0, 0, 0, 0]
    let expected = HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: bytes))
    #expect(try Pepper(bytes: bytes).digest(of: Array("ab".utf8), [], purpose: "use") == Array(expected))
  }

  @Test func `purpose, parts and pepper all matter`() throws {
    let pepper = try Pepper(bytes: bytes)
    let digests = [
      pepper.digest(of: [1, 2], [3], purpose: "a"),
      pepper.digest(of: [1], [2, 3], purpose: "a"),
      pepper.digest(of: [1, 2, 3], purpose: "a"),
      pepper.digest(of: [1, 2, 3], [], purpose: "a"),
      pepper.digest(of: [1, 2, 3], purpose: "b"),
      Pepper.random().digest(of: [1, 2, 3], purpose: "a"),
    ]
    #expect(Set(digests).count == digests.count)
    #expect(pepper.digest(of: [1, 2], [3], purpose: "a") == digests[0])
  }

  @Test(arguments: [[], randomBytes(31), randomBytes(64), [UInt8](repeating: 7, count: 32)])
  func `what is not 32 random bytes is no pepper`(bytes: [UInt8]) {
    let error = #expect(throws: CryptoError.self) { try Pepper(bytes: bytes) }
    #expect(error?.code == .invalidSecret)
  }
}
