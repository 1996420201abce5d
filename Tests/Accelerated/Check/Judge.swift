// Compares the accelerator's answers with those that were prepared.

import Synchronization
import TouchstoneCrypto

struct Judge {
  private let lanes: RecordingLanes
  private let verifier: BatchVerifier
  private var keys: [[UInt8]: P256PublicKey] = [:]

  private var batches = 0
  private var right = 0
  private var wrong = 0
  private var refusedKeys = 0
  private var refusedCrafted = 0
  private var differences = 0

  init(_ accelerator: any LaneVerifier) {
    lanes = RecordingLanes(accelerator)
    verifier = BatchVerifier(lanes: lanes)
    guard verifier.groupSize == lanes.laneCount else { fail(verifier.name, exitCode: 1) }
    // Without what the self-test asked.
    lanes.reset()
    print("comparing \(verifier.name) with swift-crypto")
  }

  /// All answers were as expected, and the lanes refused no signature of a message that is right. Crafted ones they may
  /// refuse: crypto_mb 2.3.0 refuses keys with x = 0, and some signatures for which u1 * G = u2 * Q (SEC 1, 4.1.4).
  var isContent: Bool { batches > 0 && differences == 0 && lanes.counts.refusedRight == 0 && lanes.counts.accepted > 0 }

  var summary: String {
    let counts = lanes.counts
    return """
      \(batches) batches: \(right) right and \(wrong) wrong signatures, and \(refusedKeys) with keys that are none
      lanes: \(counts.accepted) accepted, \(counts.refused) refused, of these right ones: \(counts.refusedRight) of messages, \(refusedCrafted) crafted
      \(differences) answers differ: \(isContent ? "passed" : "failed")
      """
  }

  mutating func read(_ lines: [Substring]) {
    var batch: [VerificationCase] = []
    for line in lines {
      if let one = VerificationCase(line) {
        batch.append(one)
      } else if !batch.isEmpty {
        judge(batch)
        batch = []
        batches += 1
        if batches.isMultiple(of: 1_000) { print("\(batches) batches, \(differences) answers differ") }
      }
    }
  }

  private mutating func judge(_ batch: [VerificationCase]) {
    var checks: [(VerificationCase, SignatureCheck)] = []
    var digests: [(VerificationCase, SignatureLane)] = []
    for one in batch {
      guard let key = publicKey(one.key) else {
        compare(false, with: one)
        refusedKeys += 1
        continue
      }
      switch one.signed {
      case .message(let message):
        checks.append((one, SignatureCheck(publicKey: key, signature: one.signature, message: message)))
      case .digest(let digest):
        // A number out of its range never reaches the lanes; swift-crypto answers alone.
        if let lane = SignatureLane(publicKey: key, signature: one.signature, digest: digest) {
          digests.append((one, lane))
        }
      }
    }
    for ((one, _), answer) in zip(checks, verifier.verify(checks.map(\.1))) { compare(answer, with: one) }
    for start in stride(from: 0, to: digests.count, by: lanes.laneCount) {
      let group = digests[start..<min(start + lanes.laneCount, digests.count)]
      for ((one, _), isAccepted) in zip(group, lanes.verify(group.map(\.1))) {
        // As `BatchVerifier` has it: swift-crypto decides on what the lanes refuse.
        let isLeftToSwiftCrypto = !isAccepted && one.isRight == true
        refusedCrafted += isLeftToSwiftCrypto ? 1 : 0
        compare(isAccepted || isLeftToSwiftCrypto, with: one)
      }
    }
    lanes.count(rightOnes: checks.filter { $0.0.isRight == true }.compactMap { SignatureLane($0.1) })
  }

  private mutating func publicKey(_ bytes: [UInt8]) -> P256PublicKey? {
    if let known = keys[bytes] { return known }
    let key = try? P256PublicKey(bytes: bytes)
    keys[bytes] = key
    return key
  }

  private mutating func compare(_ answer: Bool, with expected: VerificationCase) {
    if expected.isRight == true { right += 1 } else { wrong += 1 }
    guard answer != expected.isRight else { return }
    differences += 1
    print("answered \(answer): \(expected.line)")
  }
}

/// The accelerator, with a record of what it answers before swift-crypto verifies again.
private final class RecordingLanes: LaneVerifier {
  struct Counts {
    var accepted = 0
    var refused = 0
    var refusedRight = 0
  }

  private let accelerator: any LaneVerifier
  private let state = Mutex<(counts: Counts, refused: Set<[UInt8]>)>((Counts(), []))

  init(_ accelerator: any LaneVerifier) { self.accelerator = accelerator }

  var name: String { accelerator.name }
  var laneCount: Int { accelerator.laneCount }
  /// Few signatures take the lanes, too.
  var minimumCount: Int { 1 }
  var counts: Counts { state.withLock { $0.counts } }

  func reset() { state.withLock { $0 = (Counts(), []) } }

  func verify(_ lanes: [SignatureLane]) -> [Bool] {
    let answers = accelerator.verify(lanes)
    state.withLock { state in
      for (lane, isAccepted) in zip(lanes, answers) {
        state.counts.accepted += isAccepted ? 1 : 0
        state.counts.refused += isAccepted ? 0 : 1
        if !isAccepted { state.refused.insert(Self.identity(lane)) }
      }
    }
    return answers
  }

  /// Counts which of a batch's right signatures the lanes refused, and forgets the batch.
  func count(rightOnes: [SignatureLane]) {
    state.withLock { state in
      state.counts.refusedRight += rightOnes.count { state.refused.contains(Self.identity($0)) }
      state.refused = []
    }
  }

  private static func identity(_ lane: SignatureLane) -> [UInt8] { lane.publicKey.x963 + lane.signature + lane.digest }
}
