// Signature checks, gathered over one wake-up of a shard and done together.
//
// A verification costs as much as a dozen whole calls (49 µs beside 4), so where one connection brings a hundred of
// them, the cores that have no shard to run take their part.

internal import Dispatch
internal import Synchronization
internal import TouchstoneCrypto

/// The checks of one shard's wake-up. Used on that shard alone (see `ShardContext`).
final class VerificationBatch {
  typealias Completion = @Sendable (Bool) -> Void

  private var checks: [SignatureCheck] = []
  private var completions: [Completion] = []
  private let workers: VerificationWorkers

  init(workers: VerificationWorkers) {
    self.workers = workers
  }

  /// `completion` runs on the shard, at the end of this wake-up or soon after.
  func add(_ check: SignatureCheck, completion: @escaping Completion) {
    checks.append(check)
    completions.append(completion)
  }

  /// Verifies what was gathered: part of it here, part of it on cores that are idle.
  func flush(on shard: some CallShard) {
    // A completion may add a check, so this goes round until nothing is left.
    while !checks.isEmpty {
      let checks = self.checks
      let completions = self.completions
      self.checks = []
      self.completions = []
      workers.verify(checks, completions, on: shard)
    }
  }
}

/// Shares batches among the cores.
final class VerificationWorkers: Sendable {
  /// Below this many checks, a hop to another thread (about 5 µs there and back) is not worth its delay.
  private static let minimumChecksPerWorker = 2

  private let cores: Int
  /// Threads that verify right now.
  private let running = Atomic<Int>(0)
  private let queue = DispatchQueue(label: "touchstone.verification", attributes: .concurrent)

  init(cores: Int) {
    self.cores = cores
  }

  func verify(_ checks: [SignatureCheck], _ completions: [VerificationBatch.Completion], on shard: some CallShard) {
    let threads = reserve(upTo: max(1, checks.count / Self.minimumChecksPerWorker))
    let parts = Self.split(checks.count, into: threads)
    for part in parts.dropFirst() {
      queue.async { [self] in
        let results = SignatureVerifier.verify(Array(checks[part]))
        release()
        shard.execute {
          for (completion, result) in zip(completions[part], results) { completion(result) }
        }
      }
    }
    let results = SignatureVerifier.verify(Array(checks[parts[0]]))
    release()
    for (completion, result) in zip(completions[parts[0]], results) { completion(result) }
  }

  /// At least one thread, the caller's own; more only while cores are left.
  private func reserve(upTo wanted: Int) -> Int {
    var current = running.load(ordering: .relaxed)
    while true {
      let granted = max(1, min(wanted, cores - current))
      let (exchanged, original) = running.compareExchange(
        expected: current, desired: current + granted, ordering: .relaxed)
      if exchanged { return granted }
      current = original
    }
  }

  private func release() {
    running.subtract(1, ordering: .relaxed)
  }

  /// As even as can be, in order.
  static func split(_ count: Int, into parts: Int) -> [Range<Int>] {
    (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
  }
}
