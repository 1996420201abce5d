import Testing

@testable import TouchstoneAttestation

/// R46: what FIDO's metadata says, as far as it can be read. Tests/Acceptance/test_authenticators.py signs it.
struct MetadataTests {
  private static func payload(_ entries: String = "", nextUpdate: String = "2026-12-01") -> [UInt8] {
    Array(#"{"no":7,"nextUpdate":"\#(nextUpdate)","entries":[\#(entries)]}"#.utf8)
  }

  private static let aaguid = (0..<16).map { UInt8($0) }

  private static func entry(_ status: String, certificate: String? = nil, protection: String = #""tee""#) -> String {
    let named = certificate.map { #","certificate":"\#($0)""# } ?? ""
    return """
      {"aaguid":"00010203-0405-0607-0809-0A0B0C0D0E0F","statusReports":[{"status":"\(status)"\(named)}],
      "metadataStatement":{"description":"Key","keyProtection":[\(protection)],"attestationRootCertificates":[]}}
      """
  }

  @Test func theNumberAndTheDateAreRead() throws {
    let metadata = try AuthenticatorMetadata(payload: Self.payload())
    #expect(metadata.number == 7)
    // 2026-12-01T00:00:00Z
    #expect(metadata.nextUpdate == 1_796_083_200)
  }

  @Test(arguments: ["", "2026-12", "2026-13-01", "2026-12-32", "20261201", "2026-12-01T", "12026-12-01", "-026-12-01"])
  func anotherFormOfDateIsNoDate(_ text: String) {
    #expect(throws: ProofError.self) { try AuthenticatorMetadata(payload: Self.payload(nextUpdate: text)) }
  }

  @Test func aModelIsFoundByItsBytesAlone() throws {
    let metadata = try AuthenticatorMetadata(payload: Self.payload(Self.entry("FIDO_CERTIFIED")))
    let model = try #require(try metadata.model(Self.aaguid))
    #expect(model.name == "Key" && model.keepsKeysInHardware)
    #expect(throws: Never.self) { try model.checkStatus(of: []) }
    #expect(try metadata.model([UInt8](repeating: 0, count: 16)) == nil)
    #expect(try metadata.model(nil) == nil)
  }

  @Test(arguments: [
    (#""hardware""#, true), (#""tee""#, true), (#""secure_element","hardware""#, true), (#""software""#, false),
    (#""software","hardware""#, false), (#""remote_handle""#, false), ("", false),
  ])
  func hardwareIsAWordOfTheMaker(_ protection: String, isInHardware: Bool) throws {
    let metadata = try AuthenticatorMetadata(payload: Self.payload(Self.entry("REVOKED", protection: protection)))
    #expect(try metadata.model(Self.aaguid)?.keepsKeysInHardware == isInHardware)
  }

  @Test func whatBecameKnownIsNotTakenBack() throws {
    let entries = [Self.entry("REVOKED"), Self.entry("FIDO_CERTIFIED")]
    for order in [entries, entries.reversed()] {
      let metadata = try AuthenticatorMetadata(payload: Self.payload(order.joined(separator: ",")))
      let model = try #require(try metadata.model(Self.aaguid))
      let error = #expect(throws: ProofError.self) { try model.checkStatus(of: []) }
      #expect(error?.reason == .authenticatorRevoked)
    }
  }

  @Test(arguments: ["AAAA", "A", ""]) func aReportOfACertificateThatCannotBeReadConcernsTheModel(_ text: String) throws
  {
    let metadata = try AuthenticatorMetadata(
      payload: Self.payload(Self.entry("ATTESTATION_KEY_COMPROMISE", certificate: text)))
    let model = try #require(try metadata.model(Self.aaguid))
    #expect(throws: ProofError.self) { try model.checkStatus(of: []) }
  }
}
