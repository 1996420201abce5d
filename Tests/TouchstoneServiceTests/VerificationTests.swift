import DispatchRPC
import Logging
import SimulatedPhone
import Synchronization
import Testing
import TouchstoneCrypto

@testable import TouchstoneService

/// Signature checks of one wake-up, shared among the cores and answered on their shard.
struct VerificationTests {
  // MARK: Split

  @Test(arguments: [(0, 1), (1, 1), (2, 1), (7, 3), (8, 4), (100, 7), (64, 64), (3, 5)])
  func aSplitLeavesNothingOutAndIsEven(_ count: Int, _ parts: Int) {
    let ranges = VerificationWorkers.split(count, into: parts)
    #expect(ranges.count == parts)
    #expect(ranges.flatMap { Array($0) } == Array(0..<count))
    #expect((ranges.map(\.count).max() ?? 0) - (ranges.map(\.count).min() ?? 0) <= 1)
  }

  // MARK: Completions

  /// Many times more checks than cores, right and wrong in turn.
  @Test(arguments: [1, 2, 5]) func eachCheckIsAnsweredOnceInItsPartsOrderOnTheShard(_ cores: Int) async throws {
    let bench = try VerificationBench(cores: cores)
    let answers = await bench.verify(count: 40)
    #expect(answers.map(\.number).sorted() == Array(0..<40))
    for part in VerificationWorkers.split(40, into: cores) {
      #expect(answers.map(\.number).filter(part.contains) == Array(part))
    }
    #expect(answers.allSatisfy { $0.isValid == $0.number.isMultiple(of: 2) })
    #expect(answers.allSatisfy { $0.isOnShard })
  }

  /// The part that the shard does itself is answered before `flush` returns, and shows how many shared the work.
  @Test(arguments: [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (40, 3)])
  func workIsSharedFromTwoChecksAThreadOn(_ count: Int, _ threads: Int) async throws {
    let bench = try VerificationBench(cores: 3)
    let answers = await bench.verify(count: count)
    #expect(answers.filter(\.isInFlush).count == VerificationWorkers.split(count, into: threads)[0].count)
  }

  /// A reservation that were not given back would leave fewer cores to each batch that follows.
  @Test func coresAreGivenBackAfterEachBatch() async throws {
    let bench = try VerificationBench(cores: 4)
    for _ in 0..<20 {
      let answers = await bench.verify(count: 8)
      #expect(answers.filter(\.isInFlush).count == 2)
    }
  }

  /// Several shards at a time: none ever gets more threads than there are cores.
  @Test func shardsThatVerifyAtOnceShareTheCores() async throws {
    let cores = 2
    let workers = VerificationWorkers(cores: cores)
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

  @Test func aCheckThatACompletionAddsIsServedInTheSameFlush() async throws {
    let bench = try VerificationBench(cores: 1)
    let depths = await bench.verifyChain(of: 5)
    #expect(depths == [1, 2, 3, 4, 5])
  }
}

/// A shard with a batch.
private final class VerificationBench: Sendable {
  struct Answer: Sendable {
    var number: Int
    var isValid: Bool
    var isOnShard: Bool
    /// It came before `flush` returned.
    var isInFlush: Bool
  }

  private let shard = RPCShard(label: "test.verification")
  private let context: ShardContext
  private let right: SignatureCheck
  private let wrong: SignatureCheck

  convenience init(cores: Int) throws {
    try self.init(workers: VerificationWorkers(cores: cores))
  }

  init(workers: VerificationWorkers) throws {
    context = ShardContext(
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
      shard.execute { [self] in
        let isFlushing = Atomic<Bool>(true)
        for number in 0..<count {
          context.verifications.add(number.isMultiple(of: 2) ? right : wrong) { [shard] isValid in
            let all = answers.withLock { answers in
              answers.append(
                Answer(
                  number: number, isValid: isValid, isOnShard: shard.isCurrent,
                  isInFlush: isFlushing.load(ordering: .relaxed)))
              return answers
            }
            if all.count == count { done.resume(returning: all) }
          }
        }
        context.verifications.flush(on: shard)
        isFlushing.store(false, ordering: .relaxed)
      }
    }
  }

  /// Each completion adds the next check; the depths that were answered when `flush` returned.
  func verifyChain(of length: Int) async -> [Int] {
    await withCheckedContinuation { done in
      shard.execute { [self] in
        let depths = Mutex<[Int]>([])
        @Sendable func add(_ depth: Int) {
          context.verifications.add(right) { _ in
            depths.withLock { $0.append(depth) }
            if depth < length { add(depth + 1) }
          }
        }
        add(1)
        context.verifications.flush(on: shard)
        done.resume(returning: depths.withLock { $0 })
      }
    }
  }
}
