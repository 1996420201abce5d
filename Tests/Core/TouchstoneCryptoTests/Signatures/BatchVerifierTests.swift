// Batches give swift-crypto's answers, whatever verifies several signatures at once.

import Synchronization
import Testing

@testable import TouchstoneCrypto

@Suite struct BatchVerifierTests {
  // MARK: One by one

  @Test func `a batch answers in order`() throws {
    let signatures = try Signatures()
    let checks = [signatures.right, signatures.wrong, signatures.right, signatures.malformed, signatures.wrong]
    #expect(BatchVerifier(lanes: nil).verify(checks) == [true, false, true, false, false])
    #expect(BatchVerifier(lanes: nil).verify([]) == [])
    #expect(BatchVerifier(lanes: nil).groupSize == 1)
    #expect(BatchVerifier(lanes: nil).name == "swift-crypto")
  }

  @Test func `the fastest verifier of this machine answers as one by one`() throws {
    let checks = try Signatures().mixed(40)
    #expect(BatchVerifier.fastest.verify(checks) == checks.map(SignatureVerifier.verify))
  }

  // MARK: In lanes

  /// Sizes around the lanes' number, and around the least that are worth it.
  @Test(arguments: [0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 16, 17, 40]) func `lanes answer as one by one`(_ count: Int) throws
  {
    let checks = try Signatures().mixed(count)
    let lanes = FakeLanes()
    #expect(BatchVerifier(lanes: lanes).verify(checks) == checks.map(SignatureVerifier.verify))
    #expect(lanes.calls.allSatisfy { $0 >= lanes.minimumCount && $0 <= lanes.laneCount })
  }

  @Test(arguments: [(3, []), (4, [4]), (8, [8]), (11, [8]), (12, [8, 4]), (17, [8, 8])])
  func `eight go together, and fewer than four one by one`(_ count: Int, _ calls: [Int]) throws {
    let right = try Signatures().right
    let lanes = FakeLanes()
    let verifier = BatchVerifier(lanes: lanes)
    #expect(verifier.groupSize == 8)
    #expect(verifier.name == "fake")
    #expect(verifier.verify(.init(repeating: right, count: count)) == .init(repeating: true, count: count))
    #expect(lanes.calls == calls)
  }

  /// The lanes refuse everything, or every other signature.
  @Test(arguments: [1, 2]) func `a right signature is accepted although its lane failed`(_ interval: Int) throws {
    let checks = try Signatures().mixed(24)
    let lanes = FakeLanes(failingEvery: interval)
    #expect(BatchVerifier(lanes: lanes).verify(checks) == checks.map(SignatureVerifier.verify))
    #expect(!lanes.calls.isEmpty)
  }

  @Test func `malformed signatures do not reach the lanes, and do not shift the answers`() throws {
    let signatures = try Signatures()
    let (right, wrong, malformed) = (signatures.right, signatures.wrong, signatures.malformed)
    let lanes = FakeLanes()
    let checks = [malformed, right, malformed, wrong, right, malformed, right, wrong]
    #expect(BatchVerifier(lanes: lanes).verify(checks) == [false, true, false, false, true, false, true, false])
    #expect(lanes.calls == [5])
  }

  // MARK: Input of lanes

  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551",
    "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632552",
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
  ])
  func `a number out of its range makes no lane`(_ number: String) throws {
    let key = try Signatures().right.publicKey
    let (outside, inside) = (hex(number), [UInt8](repeating: 1, count: 32))
    #expect(SignatureLane(publicKey: key, signature: outside + inside, digest: inside) == nil)
    #expect(SignatureLane(publicKey: key, signature: inside + outside, digest: inside) == nil)
    #expect(SignatureLane(publicKey: key, signature: inside + inside, digest: outside) == nil)
    #expect(SignatureLane(publicKey: key, signature: inside + inside + [1], digest: inside) == nil)
    #expect(SignatureLane(publicKey: key, signature: inside + inside, digest: inside) != nil)
  }

  @Test(arguments: [
    "0000000000000000000000000000000000000000000000000000000000000001",
    "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632550",
  ])
  func `the range's ends make lanes`(_ number: String) throws {
    let key = try Signatures().right.publicKey
    #expect(SignatureLane(publicKey: key, signature: hex(number) + hex(number), digest: hex(number)) != nil)
  }

  @Test func `DER becomes r and s`() throws {
    let key = try Signatures().right.publicKey
    let check = SignatureCheck(publicKey: key, signature: hex("3006 020103 020105"), message: [1])
    let lane = try #require(SignatureLane(check))
    let (r, s) = (lane.signature.prefix(32), lane.signature.suffix(32))
    #expect(Array(r) == [UInt8](repeating: 0, count: 31) + [3] && Array(s) == [UInt8](repeating: 0, count: 31) + [5])
    #expect(lane.digest == sha256([1]))
  }

  // MARK: Self-test

  /// Lanes that refuse or accept everything, or swap neighbours, are not used.
  @Test(arguments: [
    FakeLanes.Fault.refusesAll, .acceptsAll, .swapsNeighbours,
  ])
  func `lanes that fail the self-test do not serve`(_ fault: FakeLanes.Fault) throws {
    let lanes = FakeLanes(selfTestFault: fault)
    let verifier = BatchVerifier(lanes: lanes)
    #expect(verifier.name == "swift-crypto, because fake failed its self-test")
    #expect(verifier.groupSize == 1)
    let checks = try Signatures().mixed(16)
    #expect(verifier.verify(checks) == checks.map(SignatureVerifier.verify))
    #expect(lanes.calls.isEmpty)
  }
}

/// Right, wrong and malformed signatures.
private struct Signatures {
  let right: SignatureCheck
  let wrong: SignatureCheck
  let malformed: SignatureCheck

  /// RFC 6979, A.2.5.
  init() throws {
    let key = try P256PublicKey(
      bytes: hex(
        """
        04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
        7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299
        """))
    let signature = hex(
      """
      EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716
      F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8
      """)
    right = SignatureCheck(publicKey: key, signature: signature, message: Array("sample".utf8))
    wrong = SignatureCheck(publicKey: key, signature: signature, message: Array("samplf".utf8))
    malformed = SignatureCheck(publicKey: key, signature: [0x30], message: Array("sample".utf8))
  }

  func mixed(_ count: Int) -> [SignatureCheck] {
    (0..<count).map { [right, wrong, right, malformed, right][$0 % 5] }
  }
}

/// Verifies lanes one by one, and fails some right ones.
final class FakeLanes: LaneVerifier {
  enum Fault: Sendable {
    case refusesAll, acceptsAll, swapsNeighbours
  }

  let name = "fake"
  let laneCount = 8
  let minimumCount = 4
  private let failureInterval: Int?
  private let selfTestFault: Fault?
  private let sizes = Mutex<[Int]>([])

  init(failingEvery interval: Int? = nil, selfTestFault: Fault? = nil) {
    failureInterval = interval
    self.selfTestFault = selfTestFault
  }

  /// The self-test's two batches, of a right signature in every other lane.
  private static let selfTestCalls = 2

  /// How many signatures each call had, after the self-test.
  var calls: [Int] { sizes.withLock { Array($0.dropFirst(Self.selfTestCalls)) } }

  func verify(_ lanes: [SignatureLane]) -> [Bool] {
    let calls = sizes.withLock { sizes in
      sizes.append(lanes.count)
      return sizes.count
    }
    let verdicts = lanes.map { $0.digest == sha256(Array("sample".utf8)) }
    switch selfTestFault {
    case .refusesAll: return lanes.map { _ in false }
    case .acceptsAll: return lanes.map { _ in true }
    case .swapsNeighbours: return lanes.indices.map { verdicts[$0 ^ 1] }
    case nil: break
    }
    guard let failureInterval, calls > Self.selfTestCalls else { return verdicts }
    return verdicts.enumerated().map { lane, isRight in isRight && lane % failureInterval != 0 }
  }
}
