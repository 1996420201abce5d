// Passcodes and gestures are verified on threads of their own: they take tens of milliseconds and megabytes each,
// beside calls of microseconds. The certificates of keys that are bound, which take a millisecond, are verified on
// these threads too.

internal import Dispatch
internal import DispatchRPC
internal import Glibc
internal import Synchronization

/// An executor for slow work: it has threads of its own in a service, and uses the caller's in a simulation.
public protocol SecretExecutor: Sendable {
  /// How many secrets it is given at one time, and no more. The few other pieces of work stand in line with them.
  var threads: Int { get }
  func run(_ work: @escaping @Sendable () -> Void)
}

/// Threads with a lower priority than all others, so that a flood of guesses slows no login.
public final class SecretWorkers: SecretExecutor {
  /// A tenth of an event loop's share where both want a core: each step is a quarter (sched(7)).
  public static let background: Int32 = 10
  /// A third of the share of those that verify passcodes, and still seconds for an operator on a machine without idle
  /// cores.
  public static let operators: Int32 = 15

  public let threads: Int
  private let bench = Bench()

  /// - Parameters:
  ///   - threads: how many are verified at one time; each takes a core and the memory of its check (19 MiB).
  ///   - niceness: of the threads (sched(7)).
  public init(threads: Int, niceness: Int32 = background) {
    precondition(threads > 0, "there must be a thread")
    self.threads = threads
    for number in 0..<threads {
      let isStarted = startThread("secrets.\(number)") { [bench] in
        // On Linux a thread has a niceness of its own, whatever POSIX says (sched(7)).
        _ = nice(niceness)
        bench.serve()
      }
      precondition(isStarted, "no thread for verifying secrets")
    }
  }

  deinit {
    for _ in 0..<threads { bench.add(nil) }
  }

  public func run(_ work: @escaping @Sendable () -> Void) { bench.add(work) }

  /// The state that the threads share; they live as long as it has work for them.
  private final class Bench: Sendable {
    /// First in, first out; `nil` ends a thread.
    private let waiting = Mutex<[(@Sendable () -> Void)?]>([])
    private let arrivals = DispatchSemaphore(value: 0)

    func add(_ work: (@Sendable () -> Void)?) {
      waiting.withLock { $0.append(work) }
      arrivals.signal()
    }

    /// Until the last one's end.
    func serve() {
      while true {
        arrivals.wait()
        guard let work = waiting.withLock({ $0.removeFirst() }) else { return }
        work()
      }
    }
  }
}
