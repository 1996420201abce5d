// The keys that sign the audit log's accounts of removed content (R41).

import Testing

@testable import TouchstoneCrypto

@Suite struct AuditKeyTests {
  private let directory = KeyDirectory()

  private let now: Int64 = 1_800_000_000
  private let message: [UInt8] = [1, 2, 3]

  @Test func `what a key signed verifies by its public half, also after a rotation`() throws {
    try KeyStore.create(directory: directory.keys)
    let old = try #require(try KeyRing.load(path: directory.keys).audit?.sign(message, at: now))
    _ = try KeyStore.rotate(directory: directory.keys, .audit, usedFrom: now)
    let keys = try #require(try KeyRing.load(path: directory.keys).audit)
    let new = try #require(keys.sign(message, at: now))
    #expect(old.keyID != new.keyID)
    #expect(new.signature.count == 64)

    let text = try KeyStore.publicAuditKeys(path: directory.keys).joined(separator: "\n")
    #expect(!text.contains("PRIVATE"))
    let verifier = try AuditVerifier(pem: text)
    for signed in [old, new] {
      #expect(verifier.check(signed.signature, by: signed.keyID, of: message) == .valid)
      #expect(verifier.check(signed.signature, by: signed.keyID, of: message + [0]) == .forged)
      #expect(keys.check(signed.signature, by: signed.keyID, of: message) == .valid)
    }
    #expect(verifier.check(old.signature, by: new.keyID, of: message) == .forged)
    #expect(verifier.check([], by: new.keyID, of: message) == .forged)
    let stranger = AuditKeys(active: .random()).sign(message, at: now)!
    #expect(verifier.check(stranger.signature, by: stranger.keyID, of: message) == .unknownKey)
  }

  /// The accounts that it signed stay in the log.
  @Test func `an audit key is never pruned`() throws {
    try KeyStore.create(directory: directory.keys)
    _ = try KeyStore.rotate(directory: directory.keys, .audit, usedFrom: now)
    #expect(try KeyStore.prune(directory: directory.keys, at: .max) == [])
    #expect(try KeyRing.load(path: directory.keys).audit?.accepted.count == 2)
  }

  /// Every replica must have loaded it before one signs with it.
  @Test func `a first audit key signs nothing before its time`() throws {
    try KeyStore.create(directory: directory.keys)
    directory.remove("audit/1.pem")
    #expect(try KeyRing.load(path: directory.keys).audit == nil)
    _ = try KeyStore.rotate(directory: directory.keys, .audit, usedFrom: now)
    let keys = try #require(try KeyRing.load(path: directory.keys).audit)
    #expect(keys.sign(message, at: now - 1) == nil)
    #expect(keys.sign(message, at: now) != nil)
  }

  @Test func `keys of before there were audit keys get one once`() throws {
    try KeyStore.create(directory: directory.keys)
    directory.remove("audit/1.pem")
    directory.remove("audit")
    let path = directory.keys
    #expect(throws: KeyRingError.self) { try KeyStore.publicAuditKeys(path: path) }
    let before = try KeyStore.export(directory: directory.keys)
    #expect(try KeyStore.addMissingAuditKey(directory: directory.keys))
    #expect(try !KeyStore.addMissingAuditKey(directory: directory.keys))
    let after = try KeyStore.export(directory: directory.keys)
    #expect(after.hasPrefix(before.dropLast("end".count)))
  }

  @Test(arguments: [
    "", "nonsense", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
  ])
  func `what is no public key is refused`(_ text: String) {
    #expect(throws: CryptoError.self) { try AuditVerifier(pem: text) }
  }
}
