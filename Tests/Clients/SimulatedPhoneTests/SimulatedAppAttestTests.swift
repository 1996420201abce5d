import Crypto
import SimulatedPhone
import Testing
import TouchstoneAttestation

/// By the service's own verification, to which the phone's bytes are a peer's.
struct SimulatedAppAttestTests {
  private static let appID = "A1B2C3D4E5.org.example.shop"
  /// 2026-11-24
  private static let now = 1_795_478_400
  private let authority = AppAttestAuthority()
  private let hash = Array(SHA256.hash(data: [1, 2, 3]))

  private func verify(_ bytes: [UInt8], _ keyID: [UInt8], root: [UInt8]? = nil) throws -> AppAttestation {
    try AppAttestation.verify(
      bytes,
      AppAttestation.Expectation(
        appIDs: [Self.appID], environments: [.production], clientDataHash: hash, keyID: keyID),
      anchors: [Certificate(der: root ?? authority.root)], at: Self.now)
  }

  @Test func anAttestedKeyAssertsAndCounts() throws {
    let service = SimulatedAppAttest(appID: Self.appID, authority: authority)
    let keyID = service.generateKey()
    let attestation = try verify(#require(service.attestKey(keyID, clientDataHash: hash)), keyID)
    #expect(attestation.keyID == keyID)
    #expect(attestation.environment == .production)
    for counter in 1...3 as ClosedRange<UInt32> {
      let assertion = try AppAssertion.verify(
        #require(service.generateAssertion(keyID, clientDataHash: hash)),
        AppAssertion.Expectation(
          appID: Self.appID, clientDataHash: hash, publicKey: attestation.publicKey, previousCounter: counter - 1))
      #expect(assertion.counter == counter)
    }
    #expect(service.generateAssertion([1], clientDataHash: hash) == nil)
    #expect(service.attestKey([1], clientDataHash: hash) == nil)
  }

  @Test func onlyItsOwnRootBelievesAnAuthority() throws {
    let service = SimulatedAppAttest(appID: Self.appID, authority: authority)
    let keyID = service.generateKey()
    let bytes = try #require(service.attestKey(keyID, clientDataHash: hash))
    let error = try #require(throws: ProofError.self) { try verify(bytes, keyID, root: AppAttestAuthority().root) }
    #expect(error.reason == .rootUnknown)
    let pem = try Certificate.readPEM(authority.rootPEM)
    #expect(pem.map(\.der) == [authority.root])
  }

  // R43: Apple's authority signs by P-384, which is costly to verify.
  @Test func theSignatureOfTheAuthorityIsVerifiedOnce() throws {
    let anchors = [try Certificate(der: authority.root)]
    func verify(_ signatures: inout AuthoritySignatures, at time: Int) throws {
      let service = SimulatedAppAttest(appID: Self.appID, authority: authority)
      let keyID = service.generateKey()
      let expected = AppAttestation.Expectation(
        appIDs: [Self.appID], environments: [.production], clientDataHash: hash, keyID: keyID)
      _ = try AppAttestation.verify(
        #require(service.attestKey(keyID, clientDataHash: hash)), expected, anchors: anchors, at: time, .strict,
        known: { _ in nil }, &signatures)
    }
    var first = AuthoritySignatures()
    try verify(&first, at: Self.now)
    #expect(first.verified.count == 1)
    let known = Set(first.verified)
    var second = AuthoritySignatures { known.contains($0) }
    try verify(&second, at: Self.now)
    #expect(second.verified.isEmpty)
    // The certificates' times count anew.
    let after2049 = 2_600_000_000
    do {
      try verify(&second, at: after2049)
      Issue.record("an expired certificate is taken")
    } catch let error as ProofError {
      #expect(error.reason == .certificateExpired)
    }
  }

  @Test func theEnvironmentIsInTheKey() throws {
    let service = SimulatedAppAttest(appID: Self.appID, environment: .development, authority: authority)
    let keyID = service.generateKey()
    let bytes = try #require(service.attestKey(keyID, clientDataHash: hash))
    let error = try #require(throws: ProofError.self) { try verify(bytes, keyID) }
    #expect(error.reason == .environmentDiffers)
  }

  @Test func aSeedMakesTheSameKeys() {
    let ids = (0..<2).map { _ in
      SimulatedAppAttest(appID: Self.appID, authority: authority, seed: 7).generateKey()
    }
    #expect(ids[0] == ids[1])
  }
}
