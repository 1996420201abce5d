import TestSupport
import Testing

@testable import TouchstoneAttestation

struct ReasonTests {
  private static let page = "/\(#filePath.split(separator: "/").dropLast(4).joined(separator: "/"))/docs/ATTESTATION.md"

  @Test func eachReasonIsExplained() throws {
    let words = Set(try File.text(Self.page).split(separator: "`").map(String.init))
    #expect(ProofError.Reason.allCases.map(\.rawValue).filter { !words.contains($0) } == [])
  }
}
