import Testing

@testable import TouchstoneAttestation

/// Authenticator data of WebAuthn, and as App Attest sends it (WebAuthn Level 3 §6.1).
struct AuthenticatorDataTests {
  private static func data(flags: UInt8, count: UInt8 = 7, _ rest: [UInt8] = []) -> [UInt8] {
    [UInt8](repeating: 0xAA, count: 32) + [flags, 0, 0, 0, count] + rest
  }

  /// An AAGUID, a credential id of two bytes, and an empty map for its key.
  private static let credential = [UInt8](repeating: 0xBB, count: 16) + [0, 2, 1, 2] + [0xA0]

  @Test func itsPartsAreRead() throws {
    let data = try AuthenticatorData(Self.data(flags: 0xC5, Self.credential + [0xA1, 0x61, 0x61, 0x01]))
    #expect(data.rpIDHash == [UInt8](repeating: 0xAA, count: 32))
    #expect(data.flags.isSuperset(of: [.userPresent, .userVerified, .attestedCredential, .extensions]))
    #expect(data.signCount == 7)
    #expect(data.credential?.aaguid == [UInt8](repeating: 0xBB, count: 16))
    #expect(data.credential?.id == [1, 2])
    #expect(data.credential?.publicKey == [0xA0])
    #expect(data.extensions?["a"]?.integer == 1)
  }

  @Test(arguments: [
    ("short", [UInt8](repeating: 0, count: 36)), ("bytes after its end", data(flags: 0x01, [0])),
    ("no credential", data(flags: 0x41)), ("no extensions", data(flags: 0x81)),
    ("extensions that are no map", data(flags: 0x81, [0x00])),
    ("an empty credential id", data(flags: 0x41, [UInt8](repeating: 0, count: 18) + [0xA0])),
    ("a credential id beyond the end", data(flags: 0x41, [UInt8](repeating: 0, count: 16) + [0x03, 0xFF, 1])),
    (
      "a credential id of 1,024 bytes",
      data(flags: 0x41, [UInt8](repeating: 0, count: 16) + [0x04, 0x00] + [UInt8](repeating: 1, count: 1_024) + [0xA0])
    ),
  ]) func whatIsMalformedIsRefused(_ what: String, _ bytes: [UInt8]) {
    #expect(throws: ProofError.self) { try AuthenticatorData(bytes) }
  }

  /// iOS 27 sends a map with ED clear.
  @Test func appAttestMaySendAMapWithoutItsFlag() throws {
    let map: [UInt8] = [0xA1, 0x61, 0x61, 0x01]
    let bytes = Self.data(flags: 0x40, Self.credential + map)
    #expect(try AuthenticatorData(bytes, as: .appAttestation).extensions?["a"]?.integer == 1)
    #expect(throws: ProofError.self) { try AuthenticatorData(bytes) }
    #expect(throws: ProofError.self) { try AuthenticatorData(bytes + [0], as: .appAttestation) }
  }

  /// Their AT announces a credential that is not there.
  @Test func appAssertionsHaveNoCredential() throws {
    let bytes = Self.data(flags: 0x40)
    #expect(try AuthenticatorData(bytes, as: .appAssertion).signCount == 7)
    #expect(throws: ProofError.self) { try AuthenticatorData(bytes) }
  }
}
