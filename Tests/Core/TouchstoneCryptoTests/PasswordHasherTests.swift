import Testing

@testable import TouchstoneCrypto

/// Argon2id is the standard's, and a verifier answers to its own password, pepper and owner alone (R16).
struct PasswordHasherTests {
  /// As little as Argon2 takes: the tests are of the rules around it.
  private static let cheap = PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1)!

  private let pepper = Pepper.random()
  private let owner = Array("alice".utf8)
  private var hasher: PasswordHasher { PasswordHasher(pepper: pepper, parameters: Self.cheap) }

  private func secret(_ text: String) -> SecretBytes { SecretBytes(text.utf8) }

  // MARK: Argon2id

  /// RFC 9106, section 5.3: all inputs given, four lanes.
  @Test func theTestVectorOfTheStandard() throws {
    let password = [UInt8](repeating: 1, count: 32)
    let inputs = Argon2id.Inputs(
      salt: [UInt8](repeating: 2, count: 16), key: [UInt8](repeating: 3, count: 8),
      associatedData: [UInt8](repeating: 4, count: 12),
      parameters: PasswordHasher.Parameters(memoryKibibytes: 32, passes: 3, lanes: 4)!, tagByteCount: 32)
    #expect(
      try tag(password, inputs) == "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
  }

  /// The reference implementation's own (src/test.c), as far as they cost less than 1 MiB, and its default size.
  @Test(arguments: [
    ("password", "somesalt", 2, 65_536, 1, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"),
    ("password", "somesalt", 2, 256, 1, "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"),
    ("password", "somesalt", 2, 256, 2, "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037"),
    ("differentpassword", "somesalt", 2, 65_536, 1, "0b84d652cf6b0c4beaef0dfe278ba6a80df6696281d7e0d2891b817d8c458fde"),
    ("password", "diffsalt", 2, 65_536, 1, "bdf32b05ccc42eb15d58fd19b1f856b113da1e9a5874fdcc544308565aa8141c"),
  ])
  func theTestVectorsOfTheReferenceImplementation(
    _ password: String, _ salt: String, _ passes: UInt32, _ memory: UInt32, _ lanes: UInt32, _ expected: String
  ) throws {
    let inputs = Argon2id.Inputs(
      salt: Array(salt.utf8),
      parameters: PasswordHasher.Parameters(memoryKibibytes: memory, passes: passes, lanes: lanes)!, tagByteCount: 32)
    #expect(try tag(Array(password.utf8), inputs) == expected)
  }

  private func tag(_ password: [UInt8], _ inputs: Argon2id.Inputs) throws -> String {
    let digits = Array("0123456789abcdef")
    let tag = try SecretBytes(password).withBytes { bytes in Result { try Argon2id.tag(of: bytes, inputs) } }.get()
    return String(tag.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  // MARK: Verifiers

  // R16
  @Test func aVerifierAnswersToItsPasswordAlone() throws {
    let verifier = try hasher.verifier(of: secret("2580"), context: owner)
    #expect(try hasher.isRight(secret("2580"), for: verifier, context: owner))
    for wrong in ["2581", "258", "25800", "", "2580\0"] {
      #expect(try !hasher.isRight(secret(wrong), for: verifier, context: owner))
    }
  }

  // R16
  @Test func anotherPepperOrOwnerKnowsNoPassword() throws {
    let verifier = try hasher.verifier(of: secret("2580"), context: owner)
    let stranger = PasswordHasher(pepper: .random(), parameters: Self.cheap)
    #expect(try !stranger.isRight(secret("2580"), for: verifier, context: owner))
    #expect(try !hasher.isRight(secret("2580"), for: verifier, context: Array("bob".utf8)))
  }

  // R16
  @Test func theSamePasswordHasAnotherVerifierEachTime() throws {
    let verifiers = try (0..<10).map { _ in try hasher.verifier(of: secret("2580"), context: owner) }
    #expect(Set(verifiers).count == 10)
    #expect(verifiers.allSatisfy { $0.count == PasswordHasher.verifierByteCount })
  }

  @Test func aVerifierHoldsTheParametersThatItWasMadeWith() throws {
    let parameters = PasswordHasher.Parameters(memoryKibibytes: 32, passes: 3, lanes: 2)!
    let verifier = try PasswordHasher(pepper: pepper, parameters: parameters).verifier(
      of: secret("2580"), context: owner)
    #expect(verifier.prefix(10) == [1, 0, 0, 0, 32, 0, 0, 0, 3, 2])
    // Whatever the parameters are by now.
    #expect(try hasher.isRight(secret("2580"), for: verifier, context: owner))
  }

  // R16
  @Test(
    arguments: [(16, 1, 1, true), (8, 2, 1, true), (16, 1, 2, true), (8, 1, 1, false)]
      as [(UInt32, UInt32, UInt32, Bool)])
  func raisedParametersAskForARehash(_ memory: UInt32, _ passes: UInt32, _ lanes: UInt32, _ isAsked: Bool) throws {
    let verifier = try hasher.verifier(of: secret("2580"), context: owner)
    let parameters = PasswordHasher.Parameters(memoryKibibytes: memory, passes: passes, lanes: lanes)!
    let raised = PasswordHasher(pepper: pepper, parameters: parameters)
    #expect(try raised.needsRehash(verifier) == isAsked)
    // Nobody makes a verifier cheaper.
    #expect(try !hasher.needsRehash(raised.verifier(of: secret("2580"), context: owner)))
  }

  // R37
  @Test func nothingIsRightForTheStandIn() throws {
    let standIn = hasher.standInVerifier
    #expect(try !hasher.isRight(secret("0000"), for: standIn, context: owner))
    #expect(try !hasher.needsRehash(standIn))
    #expect(standIn.count == PasswordHasher.verifierByteCount)
  }

  @Test func damagedBytesAreNoVerifierAndAskForNoTerabytes() throws {
    let verifier = try hasher.verifier(of: secret("2580"), context: owner)
    var damaged: [[UInt8]] = [[], Array(verifier.dropLast()), verifier + [0]]
    // The memory's lower bytes may be anything.
    for index in [0, 1, 2, 5, 6, 7, 8, 9] {
      var bytes = verifier
      bytes[index] = 0xFF
      damaged.append(bytes)
    }
    for bytes in damaged {
      #expect(throws: CryptoError.self) { try hasher.isRight(secret("2580"), for: bytes, context: owner) }
      #expect(throws: CryptoError.self) { try hasher.needsRehash(bytes) }
    }
    var otherTag = verifier
    otherTag[57] ^= 1
    #expect(try !hasher.isRight(secret("2580"), for: otherTag, context: owner))
  }

  @Test(
    arguments: [(7, 1, 1), (8, 0, 1), (8, 1, 0), (15, 1, 2), (1 << 20 + 1, 1, 1), (8, 65, 1), (136, 1, 17)]
      as [(UInt32, UInt32, UInt32)])
  func parametersOutOfBoundsAreNone(_ memory: UInt32, _ passes: UInt32, _ lanes: UInt32) {
    #expect(PasswordHasher.Parameters(memoryKibibytes: memory, passes: passes, lanes: lanes) == nil)
  }

  // R16
  @Test func theDefaultCosts19MebibytesAndTwoPasses() throws {
    let hasher = PasswordHasher(pepper: pepper)
    #expect(hasher.parameters == PasswordHasher.Parameters(memoryKibibytes: 19_456, passes: 2, lanes: 1))
    #expect(
      try hasher.isRight(secret("2580"), for: hasher.verifier(of: secret("2580"), context: owner), context: owner))
  }
}
