// Many worlds, one after another on a few threads.

import Glibc
import Synchronization
import TestSupport

/// Which seeds to run, and where the first of them went wrong.
struct Seeds: Sendable {
  var range: ClosedRange<UInt64>
  var mutation: Mutation?

  struct Failure: Sendable {
    var seed: UInt64
    var violation: Violation
  }

  /// The failure with the smallest seed among those that were found before everybody stopped; `nil`: none.
  func firstFailure() async -> Failure? {
    let search = Search(seeds: self)
    return await withCheckedContinuation { continuation in search.begin { continuation.resume(returning: $0) } }
  }

  /// Ends at the first failure.
  private final class Search: Sendable {
    private let seeds: Seeds
    private let state: Mutex<State>

    private struct State: Sendable {
      var next: UInt64
      var failure: Failure?
      var runningThreads: Int
      var completion: (@Sendable (Failure?) -> Void)?
    }

    init(seeds: Seeds) {
      self.seeds = seeds
      state = Mutex(State(next: seeds.range.lowerBound, runningThreads: Seeds.threadCount))
    }

    func begin(_ completion: @escaping @Sendable (Failure?) -> Void) {
      state.withLock { $0.completion = completion }
      for _ in 0..<Seeds.threadCount {
        LowPriorityThread.start { [self] in
          while let seed = nextSeed() { run(seed) }
          end()
        }
      }
    }

    private func nextSeed() -> UInt64? {
      state.withLock { state in
        guard state.failure == nil, state.next <= seeds.range.upperBound else { return nil }
        defer { state.next += 1 }
        return state.next
      }
    }

    private func run(_ seed: UInt64) {
      LowPriorityThread.name("seed \(seed)")
      guard let violation = World(seed: seed, mutation: seeds.mutation).run() else { return }
      state.withLock { state in
        if state.failure.map({ $0.seed > seed }) ?? true { state.failure = Failure(seed: seed, violation: violation) }
      }
    }

    private func end() {
      let (completion, failure) = state.withLock { state in
        state.runningThreads -= 1
        return (state.runningThreads == 0 ? state.completion : nil, state.failure)
      }
      completion?(failure)
    }
  }

  private static let threadCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
}

/// Gives way to the tests beside it, some of which measure time.
enum LowPriorityThread {
  private static let niceness: CInt = 10

  /// Where a handler traps, the backtrace names the thread.
  static func name(_ name: String) {
    guard let file = fopen("/proc/thread-self/comm", "w") else { return }
    fputs(name, file)
    fclose(file)
  }

  static func start(_ run: @escaping @Sendable () -> Void) {
    startThread {
      // On Linux a thread has a niceness of its own, and 0 is the calling one (setpriority(2), "Notes").
      setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, LowPriorityThread.niceness)
      run()
    }
  }
}
