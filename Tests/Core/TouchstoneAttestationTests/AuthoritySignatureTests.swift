import TestSupport
import Testing

@testable import TouchstoneAttestation

/// R44: known signatures of the authorities save their verification, and nothing else.
struct AuthoritySignatureTests {
  private let maker = AndroidMaker()
  private let challenge = [UInt8](repeating: 9, count: 32)
  private static let now = 1_800_000_000

  /// - Parameter signatures: the known signatures; afterwards also those that were found.
  private func verify(
    _ chain: [[UInt8]], _ signatures: inout AuthoritySignatures, revoked: Set<String> = [], at time: Int = now
  ) throws(ProofError) -> AttestationLevel {
    var anchors = try TrustAnchors.builtIn()
    anchors.androidHardware = try Certificate.readPEM(String(decoding: maker.rootPEM, as: UTF8.self))
    return try AndroidAttestation.verify(
      try CertificateChain(der: chain), challenge: challenge, anchors: anchors, revoked: revoked, at: time, .strict,
      &signatures
    ).level
  }

  private func reason(
    _ chain: [[UInt8]], knowing known: AuthoritySignatures, revoked: Set<String> = [], at time: Int = now
  ) -> ProofError.Reason? {
    var signatures = known
    do throws(ProofError) {
      _ = try verify(chain, &signatures, revoked: revoked, at: time)
      return nil
    } catch {
      return error.reason
    }
  }

  private func chain(of maker: AndroidMaker) -> [[UInt8]] {
    maker.key(AndroidMaker.KeyDescription(challenge: challenge)).chain
  }

  private static let all = AuthoritySignatures { _ in true }

  // R44
  @Test func eachSignatureIsVerifiedOnce() throws {
    var first = AuthoritySignatures()
    #expect(try verify(chain(of: maker), &first) == .tee)
    #expect(first.verified.count == 1)
    // The chain of another phone's key, whose own certificate is new.
    let known = Set(first.verified)
    var second = AuthoritySignatures { known.contains($0) }
    #expect(try verify(chain(of: maker), &second) == .tee)
    #expect(second.verified.isEmpty)
    // The root may be left out.
    var third = AuthoritySignatures { known.contains($0) }
    #expect(try verify(Array(chain(of: maker).dropLast()), &third) == .tee)
    #expect(third.verified.isEmpty)
  }

  // R44
  @Test func aKnownCertificateIsRevokedAllTheSame() throws {
    let chain = chain(of: maker)
    let serial = try Certificate(der: chain[1]).serialNumber
    #expect(reason(chain, knowing: Self.all) == nil)
    #expect(reason(chain, knowing: Self.all, revoked: [serial]) == .certificateRevoked)
  }

  // R44
  @Test func aKnownCertificateHasItsTimesAllTheSame() {
    #expect(reason(chain(of: maker), knowing: Self.all, at: 0) == .certificateNotYetValid)
  }

  // R44
  @Test func aLeafIsNeverKnown() throws {
    let (chain, forged) = (chain(of: maker), chain(of: AndroidMaker()))
    #expect(reason([forged[0], chain[1], chain[2]], knowing: Self.all) == .chainBroken)
  }

  // R44: names are anybody's to take.
  @Test func aForgedAuthorityIsNotTheKnownOne() throws {
    let (chain, forged) = (chain(of: maker), chain(of: AndroidMaker()))
    var first = AuthoritySignatures()
    _ = try verify(chain, &first)
    let known = Set(first.verified)
    let knowing = AuthoritySignatures { known.contains($0) }
    #expect(reason([forged[0], forged[1], chain[2]], knowing: knowing) == .chainBroken)
    #expect(reason([forged[0], forged[1]], knowing: knowing) == .rootUnknown)
    #expect(reason(forged, knowing: knowing) == .rootUnknown)
  }
}
