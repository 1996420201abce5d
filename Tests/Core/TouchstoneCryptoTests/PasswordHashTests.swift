// The hashes of operators' passwords: in argon2's own form, and neither too cheap nor too costly.

import Testing

@testable import TouchstoneCrypto

@Suite("Hashes of operators' passwords")
struct PasswordHashTests {
  private let password = SecretBytes("correct horse battery".utf8)

  /// By the reference command: printf 'correct horse battery' | argon2 saltsaltsaltsalt -id -v 13 -t 2 -k 19456 -p 1
  private static let salt = "c2FsdHNhbHRzYWx0c2FsdA"

  @Test("A hash reads back as it was written, and only its password is right")
  func roundTrip() throws {
    let made = try PasswordHash.make(of: password)
    let read = try PasswordHash(parsing: made.text)
    #expect(read.text == made.text)
    #expect(try read.isRight(password))
    #expect(try !read.isRight(SecretBytes("correct horse batterY".utf8)))
    #expect(try !read.isRight(SecretBytes("".utf8)))
    #expect(made.text.hasPrefix("$argon2id$v=19$m=65536,t=3,p=1$"))
  }

  @Test("The same password has another hash each time")
  func salts() throws {
    let cheap = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    let (one, other) = (
      try PasswordHash.make(of: password, parameters: cheap), try PasswordHash.make(of: password, parameters: cheap)
    )
    #expect(one.text != other.text)
  }

  @Test("No password is right for a name without an account")
  func standIn() throws {
    let cheap = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    #expect(try !PasswordHash.standIn(cheap).isRight(password))
  }

  @Test("No description shows it")
  func secrecy() throws {
    let hash = PasswordHash.standIn(PasswordHash.standard)
    #expect("\(hash)" == "(password hash)")
    var dumped = ""
    dump(hash, to: &dumped)
    #expect(!dumped.contains("65536"))
  }

  private static func text(_ numbers: String, salt: String = salt, tag: String = String(repeating: "A", count: 43))
    -> String
  {
    "$argon2id$v=19$\(numbers)$\(salt)$\(tag)"
  }

  @Test("Costs within the bounds are taken", arguments: ["m=19456,t=2,p=1", "m=7168,t=5,p=1", "m=262144,t=16,p=4"])
  func costs(numbers: String) throws {
    _ = try PasswordHash(parsing: Self.text(numbers))
  }

  @Test("Too cheap", arguments: ["m=7167,t=16,p=1", "m=19456,t=1,p=1", "m=7168,t=4,p=1", "m=8,t=1,p=1"])
  func cheap(numbers: String) {
    #expect(throws: PasswordHash.Malformed.tooWeak) { try PasswordHash(parsing: Self.text(numbers)) }
  }

  @Test("Too costly", arguments: ["m=262145,t=3,p=1", "m=65536,t=17,p=1", "m=65536,t=3,p=5", "m=4294967295,t=1,p=1"])
  func costly(numbers: String) {
    #expect(throws: PasswordHash.Malformed.tooCostly) { try PasswordHash(parsing: Self.text(numbers)) }
  }

  @Test(
    "Not a hash",
    arguments: [
      "", "correct horse battery", "$argon2i$v=19$m=65536,t=3,p=1$\(salt)$\(salt)",
      "$argon2id$v=16$m=65536,t=3,p=1$\(salt)$\(salt)", "$argon2id$m=65536,t=3,p=1$\(salt)$\(salt)",
      text("m=65536,t=3"), text("t=3,m=65536,p=1"), text("m=65536,t=3,p=1,x=1"), text("m=+65536,t=3,p=1"),
      text("m=4294967296,t=3,p=1"), text("m=65536,t=0,p=1"), text("m=65536,t=3,p=0"), text("m=,t=3,p=1"),
      text("m=65536,t=3,p=1", salt: "c2FsdA"), text("m=65536,t=3,p=1", salt: "c2FsdHNhbHRzYWx0c2FsdA=="),
      text("m=65536,t=3,p=1", tag: "AAAA"), text("m=65536,t=3,p=1", salt: "c2FsdHNhbHRzYWx0c2Fsd_"),
      text("m=65536,t=3,p=1") + "$", " " + text("m=65536,t=3,p=1"),
    ])
  func malformed(text: String) {
    #expect(throws: PasswordHash.Malformed.form) { try PasswordHash(parsing: text) }
  }
}
