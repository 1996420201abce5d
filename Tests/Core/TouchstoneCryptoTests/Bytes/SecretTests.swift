// No description and no reflection of a type that holds keys shows a byte of them.

import Crypto
import Encodings
import Testing

@testable import TouchstoneCrypto

@Suite struct SecretTests {
  private let sealingBytes = [UInt8](repeating: 0xa7, count: 31) + [0xa6]
  private let pepperBytes = [UInt8](repeating: 0xb9, count: 31) + [0xb8]

  @Test func `a wrapped value is not shown`() {
    let secret = Secret("password")
    #expect(renderings(of: secret).allSatisfy { !$0.contains("password") })
    #expect(renderings(of: [secret]).allSatisfy { !$0.contains("password") })
    #expect(secret.value == "password")
  }

  @Test func `the key ring and its parts show no key`() throws {
    let signingKey = SigningKey.random()
    let sealingKey = try SealingKey(bytes: sealingBytes)
    let pepper = try Pepper(bytes: pepperBytes)
    let ring = KeyRing(
      signing: SigningKeys(active: signingKey), sealing: SealingKeys(active: sealingKey), pepper: pepper)

    let subjects: [Any] = [
      ring, ring.signing, signingKey, ring.sealing, sealingKey, pepper, Sealer(keys: ring.sealing),
      TokenSigner(keys: ring.signing, issuer: "issuer"), TokenVerifier(keys: ring.signing, issuer: "issuer"),
    ]
    let scalar = Array(signingKey.privateKey.value.rawRepresentation)
    for text in subjects.flatMap(renderings) {
      for secret in [sealingBytes, pepperBytes, scalar] {
        let run = secret.prefix(4)
        for spelling in [
          run.map { String($0) }.joined(separator: ", "),
          run.map { String($0, radix: 16) }.joined(),
          Base64URL.encode(Array(secret.prefix(6))),
        ] {
          #expect(!text.contains(spelling))
        }
      }
      #expect(!text.contains("PRIVATE KEY"))
      // Where a library keeps an absorbed key: its hash states.
      #expect(!text.contains("innerHasher") && !text.contains("SHA256"))
    }
  }

  /// All ways in which Swift shows a value without being told how.
  private func renderings(of value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return ["\(value)", String(describing: value), String(reflecting: value), dumped]
  }
}
