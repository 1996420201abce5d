import DispatchRPC
import Logging
import SimulatedPhone
import Synchronization
import Testing
import TouchstoneCrypto

@testable import TouchstoneService

/// Signature checks of one round, shared among the cores and answered on their event loop.
struct VerificationTests {
  // MARK: Split

  @Test(arguments: [(0, 1), (1, 1), (2, 1), (7, 3), (8, 4), (100, 7), (64, 64), (3, 5)])
  func aSplitLeavesNothingOutAndIsEven(_ count: Int, _ parts: Int) {
    let ranges = VerificationWorkers.split(count, into: parts, groupSize: 1)
    #expect(ranges.count == parts)
    #expect(ranges.flatMap { Array($0) } == Array(0..<count))
    #expect((ranges.map(\.count).max() ?? 0) - (ranges.map(\.count).min() ?? 0) <= 1)
  }

  @Test(arguments: [
    (0, 1, [0]), (7, 1, [7]), (8, 1, [8]), (9, 2, [8, 1]), (16, 2, [8, 8]), (20, 2, [8, 12]), (40, 2, [16, 24]),
    (40, 3, [8, 16, 16]),
  ])
  func aSplitCutsNoGroup(_ count: Int, _ parts: Int, _ sizes: [Int]) {
    let ranges = VerificationWorkers.split(count, into: parts, groupSize: 8)
    #expect(ranges.map(\.count) == sizes)
    #expect(ranges.flatMap { Array($0) } == Array(0..<count))
  }

  // MARK: Completions

  /// Many times more checks than cores, right and wrong in turn.
  @Test(arguments: [1, 2, 5]) func eachCheckIsAnsweredOnceInItsPartsOrderOnTheShard(_ cores: Int) async throws {
    let bench = try VerificationBench(cores: cores)
    let answers = await bench.verify(count: 40)
    #expect(answers.map(\.number).sorted() == Array(0..<40))
    for part in VerificationWorkers.split(40, into: cores, groupSize: 1) {
      #expect(answers.map(\.number).filter(part.contains) == Array(part))
    }
    #expect(answers.allSatisfy { $0.isValid == $0.number.isMultiple(of: 2) })
    #expect(answers.allSatisfy { $0.isOnLoop })
  }

  /// The part that the event loop does itself is answered before `flush` returns, and shows how many shared the work.
  @Test(arguments: [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (40, 3)])
  func workIsSharedFromTwoChecksAThreadOn(_ count: Int, _ threads: Int) async throws {
    let bench = try VerificationBench(cores: 3)
    let answers = await bench.verify(count: count)
    #expect(answers.filter(\.isInFlush).count == VerificationWorkers.split(count, into: threads, groupSize: 1)[0].count)
  }

  /// A reservation that were not given back would leave fewer cores to each batch that follows.
  @Test func coresAreGivenBackAfterEachBatch() async throws {
    let bench = try VerificationBench(cores: 4)
    for _ in 0..<20 {
      let answers = await bench.verify(count: 8)
      #expect(answers.filter(\.isInFlush).count == 2)
    }
  }

  /// Several event loops at a time: none ever gets more threads than there are cores.
  @Test func eventLoopsThatVerifyAtOnceShareTheCores() async throws {
    let cores = 2
    let workers = VerificationWorkers(cores: cores, verifier: BatchVerifier(lanes: nil))
    let benches = try (0..<3).map { _ in try VerificationBench(workers: workers) }
    try await withThrowingTaskGroup(of: [VerificationBench.Answer].self) { group in
      for bench in benches { for _ in 0..<4 { group.addTask { await bench.verify(count: 12) } } }
      for try await answers in group {
        #expect(answers.map(\.number).sorted() == Array(0..<12))
        #expect(answers.filter(\.isInFlush).count >= 12 / cores)
      }
    }
    let alone = await benches[0].verify(count: 12)
    #expect(alone.filter(\.isInFlush).count == 12 / cores)
  }

  // MARK: Several at once

  /// The checks of one pass go together, in groups of eight; fewer than four are verified one by one. The lanes refuse
  /// everything here, so each right answer is swift-crypto's.
  @Test(arguments: [(3, []), (4, [4]), (8, [8]), (9, [8]), (20, [8, 8, 4]), (40, [8, 8, 8, 8, 8])])
  func onePassFillsTheLanes(_ count: Int, _ sizes: [Int]) async throws {
    for cores in [1, 3] {
      let lanes = RefusingLanes()
      let bench = try VerificationBench(cores: cores, lanes: lanes)
      let answers = await bench.verify(count: count)
      #expect(answers.map(\.number).sorted() == Array(0..<count))
      #expect(answers.allSatisfy { $0.isValid == $0.number.isMultiple(of: 2) && $0.isOnLoop })
      #expect(lanes.sizes.sorted() == sizes.sorted())
    }
  }

  /// A group takes one thread, however many cores are idle.
  @Test(arguments: [(2, 1), (8, 1), (9, 2), (16, 2), (24, 3), (80, 3)])
  func aGroupStaysOnOneThread(_ count: Int, _ threads: Int) async throws {
    let bench = try VerificationBench(cores: 3, lanes: RefusingLanes())
    let answers = await bench.verify(count: count)
    #expect(
      answers.filter(\.isInFlush).count == VerificationWorkers.split(count, into: threads, groupSize: 8)[0].count)
  }

  @Test func aCheckThatACompletionAddsIsServedInTheSameFlush() async throws {
    let bench = try VerificationBench(cores: 1)
    let depths = await bench.verifyChain(of: 5)
    #expect(depths == [1, 2, 3, 4, 5])
  }
}

/// An event loop with a batch.
private final class VerificationBench: Sendable {
  struct Answer: Sendable {
    var number: Int
    var isValid: Bool
    var isOnLoop: Bool
    /// It came before `flush` returned.
    var isInFlush: Bool
  }

  private let loop = EventLoop(label: "test.verification")
  private let context: LoopContext
  private let right: SignatureCheck
  private let wrong: SignatureCheck

  convenience init(cores: Int, lanes: (any LaneVerifier)? = nil) throws {
    try self.init(workers: VerificationWorkers(cores: cores, verifier: BatchVerifier(lanes: lanes)))
  }

  init(workers: VerificationWorkers) throws {
    context = LoopContext(
      workers: workers, logger: Logger(label: "test"),
      health: Health(store: MemoryStore(), timer: DispatchTimer(), logger: Logger(label: "test")))
    let key = SoftwareKey()
    let publicKey = try P256PublicKey(bytes: key.publicKeyX963)
    right = SignatureCheck(publicKey: publicKey, signature: key.sign([1]), message: [1])
    wrong = SignatureCheck(publicKey: publicKey, signature: key.sign([2]), message: [1])
  }

  /// Even numbers are right. The answers in the order they came.
  func verify(count: Int) async -> [Answer] {
    await withCheckedContinuation { done in
      let answers = Mutex<[Answer]>([])
      loop.execute { [self] in
        let isFlushing = Atomic<Bool>(true)
        for number in 0..<count {
          context.verifications.add(number.isMultiple(of: 2) ? right : wrong) { [loop] isValid in
            let all = answers.withLock { answers in
              answers.append(
                Answer(
                  number: number, isValid: isValid, isOnLoop: loop.isCurrent,
                  isInFlush: isFlushing.load(ordering: .relaxed)))
              return answers
            }
            if all.count == count { done.resume(returning: all) }
          }
        }
        context.verifications.flush(on: loop)
        isFlushing.store(false, ordering: .relaxed)
      }
    }
  }

  /// Each completion adds the next check; the depths that were answered when `flush` returned.
  func verifyChain(of length: Int) async -> [Int] {
    await withCheckedContinuation { done in
      loop.execute { [self] in
        let depths = Mutex<[Int]>([])
        @Sendable func add(_ depth: Int) {
          context.verifications.add(right) { _ in
            depths.withLock { $0.append(depth) }
            if depth < length { add(depth + 1) }
          }
        }
        add(1)
        context.verifications.flush(on: loop)
        done.resume(returning: depths.withLock { $0 })
      }
    }
  }
}

/// Passes the self-test of `BatchVerifier`, and refuses every signature afterwards.
private final class RefusingLanes: LaneVerifier {
  let name = "refusing"
  let laneCount = 8
  let minimumCount = 4
  private let all = Mutex<[Int]>([])

  /// How many signatures each call had, after the self-test.
  var sizes: [Int] { all.withLock { Array($0.dropFirst(Self.selfTestCalls)) } }

  /// Two batches of RFC 6979's signature (A.2.5).
  private static let selfTestCalls = 2

  func verify(_ lanes: [SignatureLane]) -> [Bool] {
    all.withLock { $0.append(lanes.count) }
    return lanes.map { $0.digest == sha256(Array("sample".utf8)) }
  }
}
