// Passcodes and gestures are verified on threads of their own: tens of milliseconds and megabytes each, beside calls of
// microseconds.

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Where slow work runs: other threads in a service, the caller's own in a simulation.
///
/// A place is kept before work is begun that would be lost without one: who was admitted is verified.
public protocol SecretExecutor: Sendable {
  /// Keeps a place for one piece of work. False: as many are kept as there may be.
  func reserve() -> Bool
  /// Runs the work in a place that was kept; the place is free when the work ends.
  func run(_ work: @escaping @Sendable () -> Void)
  /// Gives back a place that was kept and is not needed.
  func release()
}

/// Threads that give way to all others, so that a flood of guesses slows nobody's login.
public final class SecretWorkers: SecretExecutor {
  /// Kept places for each thread. Verifying takes some 30 ms, more on a busy machine: who is admitted behind so many is
  /// still verified within the ten seconds after which an admission counts as lost (R14).
  static let placesPerThread = 32
  /// A tenth of a shard's share where both want a core: each step is a quarter (sched(7)).
  private static let niceness: CInt = 10

  private let bench = Bench()
  private let threads: Int

  /// - Parameter threads: how many are verified at one time; each takes a core and the memory of its check (19 MiB).
  public init(threads: Int) {
    precondition(threads > 0, "somebody has to verify")
    self.threads = threads
    for _ in 0..<threads { Self.startThread(bench) }
  }

  deinit {
    for _ in 0..<threads { bench.add(nil) }
  }

  public func reserve() -> Bool { bench.reserve(limit: threads * Self.placesPerThread) }
  public func run(_ work: @escaping @Sendable () -> Void) { bench.add(work) }
  public func release() { bench.release() }

  /// What the threads share; they live as long as it has work for them.
  private final class Bench: Sendable {
    private struct State: Sendable {
      var kept = 0
      /// First in, first out; `nil` ends a thread.
      var waiting: [(@Sendable () -> Void)?] = []
    }

    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)

    func reserve(limit: Int) -> Bool {
      state.withLock { state in
        guard state.kept < limit else { return false }
        state.kept += 1
        return true
      }
    }

    func release() {
      state.withLock { $0.kept -= 1 }
    }

    func add(_ work: (@Sendable () -> Void)?) {
      state.withLock { $0.waiting.append(work) }
      arrivals.signal()
    }

    /// Until the last one's end.
    func serve() {
      while true {
        arrivals.wait()
        guard let work = state.withLock({ $0.waiting.removeFirst() }) else { return }
        work()
        release()
      }
    }
  }

  private static func startThread(_ bench: Bench) {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(bench).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let bench = Unmanaged<Bench>.fromOpaque(argument).takeRetainedValue()
        // On Linux a thread has a niceness of its own, whatever POSIX says (sched(7)).
        _ = nice(SecretWorkers.niceness)
        bench.serve()
        return nil
      }, argument)
    precondition(code == 0, "no thread for verifying secrets: \(String(cString: strerror(code)))")
    pthread_detach(thread)
  }
}

/// A place that was kept: used once, or given back when it is dropped.
final class SecretPlace: Sendable {
  private let executor: any SecretExecutor
  private let ended: @Sendable () -> Void
  private let isUsed = Atomic<Bool>(false)

  /// `nil` where none is left.
  ///
  /// - Parameter ended: runs once, when the place was used or given back.
  init?(at executor: any SecretExecutor, ended: @escaping @Sendable () -> Void = {}) {
    guard executor.reserve() else { return nil }
    self.executor = executor
    self.ended = ended
  }

  deinit {
    guard !isUsed.load(ordering: .relaxed) else { return }
    executor.release()
    ended()
  }

  /// Once.
  func run(_ work: @escaping @Sendable () -> Void) {
    precondition(!isUsed.exchange(true, ordering: .relaxed), "a place serves once")
    executor.run { [ended] in
      work()
      ended()
    }
  }
}
