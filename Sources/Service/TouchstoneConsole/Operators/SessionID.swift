// The id of a session, as its cookie has it: 256 random bits, and a proof that this installation made them.

internal import Encodings
package import TouchstoneCrypto

/// Makes and recognises ids. The proof distinguishes a session that has ended from an invented one.
package struct SessionIDs: Sendable {
  private static let randomBytes = 32
  private static let purpose = "console session"

  private let pepper: Pepper
  private let randomness: Randomness

  package init(pepper: Pepper, randomness: Randomness = .system) {
    self.pepper = pepper
    self.randomness = randomness
  }

  func make() -> (id: String, key: SessionTable.Key) {
    let random = randomness.bytes(Self.randomBytes)
    return (Base64URL.encode(random + pepper.digest(of: random, purpose: Self.purpose)), sha256(random))
  }

  /// `nil`: no installation with this pepper made it.
  func key(of id: String) -> SessionTable.Key? {
    guard let bytes = Base64URL.decode(id), bytes.count == 2 * Self.randomBytes else { return nil }
    let random = Array(bytes.prefix(Self.randomBytes))
    let proof = pepper.digest(of: random, purpose: Self.purpose)
    guard areEqualInConstantTime(proof, Array(bytes.suffix(Self.randomBytes))) else { return nil }
    return sha256(random)
  }

  func formToken() -> String { Base64URL.encode(randomness.bytes(Self.randomBytes)) }
}

extension SessionIDs {
  /// Compares form tokens.
  func areEqual(_ token: String, _ expected: String) -> Bool {
    areEqualInConstantTime(Array(token.utf8), Array(expected.utf8))
  }
}
