import Testing

@testable import TouchstoneAttestation

/// Android's key description (KeyDescription in its documentation).
struct KeyDescriptionTests {
  /// Version, level, version, level, challenge, unique id, and two empty lists.
  private static func description(version: [UInt8]) -> [UInt8] {
    let fields = version + [0x0A, 1, 1] + version + [0x0A, 1, 1, 0x04, 1, 7, 0x04, 0, 0x30, 0, 0x30, 0]
    return [0x30, UInt8(fields.count)] + fields
  }

  @Test func knownVersionsAreRead() throws {
    #expect(try KeyDescription(Self.description(version: [0x02, 1, 4])).version == 4)
    #expect(try KeyDescription(Self.description(version: [0x02, 2, 0x01, 0xF4])).version == 500)
  }

  /// The meaning of a later version is unknown here.
  @Test func unknownVersionsAreRefusedByName() {
    #expect(throws: ProofError(.unsupportedFormat, "attestation version 600")) {
      try KeyDescription(Self.description(version: [0x02, 2, 0x02, 0x58]))
    }
  }
}
