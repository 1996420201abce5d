import TestSupport
import Testing
import TouchstoneAttestation

@testable import TouchstoneService

/// R44: what is kept of signatures is bounded, whatever phones there are.
struct KnownSignaturesTests {
  /// Returns one signature each of so many makes.
  private func signatures(_ count: Int) throws -> [AuthoritySignature] {
    try (0..<count).map { _ in
      let maker = AndroidMaker()
      var anchors = try TrustAnchors.builtIn()
      anchors.androidHardware = try Certificate.readPEM(String(decoding: maker.rootPEM, as: UTF8.self))
      var found = AuthoritySignatures()
      _ = try AndroidAttestation.verify(
        try CertificateChain(der: maker.key(AndroidMaker.KeyDescription(challenge: [])).chain), challenge: [],
        anchors: anchors, revoked: [], at: 1_800_000_000, .strict, &found)
      return try #require(found.verified.first)
    }
  }

  // R44
  @Test func theFirstThatCameLeavesFirst() throws {
    let found = try signatures(KnownSignatures.maximumCount + 2)
    var known = KnownSignatures()
    for signature in found { known.insert(signature) }
    #expect(known.count == KnownSignatures.maximumCount)
    #expect(!known.contains(found[0]) && !known.contains(found[1]))
    #expect(found.dropFirst(2).allSatisfy(known.contains))
    #expect(known.certificate(of: found[1].certificate.der) == nil)
    #expect(found.dropFirst(2).allSatisfy { known.certificate(of: $0.certificate.der) == $0.certificate })
    // A signature that is there already pushes none out.
    known.insert(found[2])
    #expect(known.count == KnownSignatures.maximumCount && known.contains(found[3]))
  }
}
