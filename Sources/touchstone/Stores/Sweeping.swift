// What expired is dropped, now and then, for as long as the service runs.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstoneStore

/// Where several processes have the same database each does so: what one dropped, the others do not find.
final class Sweeping: Sendable {
  /// So that few rows wait at a time; a step holds the writer for milliseconds.
  private static let interval = DispatchTimeInterval.seconds(5)

  /// The guard of the timer is the queue; cancelling is safe from anywhere.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  private let sweep: Sweep

  /// - Parameter onFailure: the store did not do it.
  init(store: any Store, logger: Logger, onFailure: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "touchstone.sweeper")
    sweep = Sweep(store: store, queue: queue, logger: logger, onFailure: onFailure)
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
    timer.setEventHandler { [sweep] in sweep.begin() }
    timer.activate()
  }

  /// No other step is begun.
  func cancel() {
    timer.cancel()
    sweep.cancel()
  }
}

/// One at a time, of as many steps as it takes.
private final class Sweep: Sendable {
  private let store: any Store
  private let logger: Logger
  private let onFailure: @Sendable () -> Void
  private let queue: DispatchQueue
  private let isRunning = Atomic<Bool>(false)
  private let isCancelled = Atomic<Bool>(false)
  /// Between two steps, many times a step's own: what a step writes is written again by a checkpoint, and read by nobody.
  /// Tens of thousands of rows a second still go, more than come.
  private static let pause = DispatchTimeInterval.milliseconds(10)

  init(store: any Store, queue: DispatchQueue, logger: Logger, onFailure: @escaping @Sendable () -> Void) {
    self.store = store
    self.queue = queue
    self.logger = logger
    self.onFailure = onFailure
  }

  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
  }

  func begin() {
    // Still at the last one: there is much to drop, or the store hangs. It is asked which.
    guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return onFailure() }
    step()
  }

  private func step() {
    guard !isCancelled.load(ordering: .relaxed) else { return }
    store.sweep(before: systemTime()) { [self] result in
      if case .success(let step) = result, step.hasMore {
        return queue.asyncAfter(deadline: .now() + Self.pause) { self.step() }
      }
      isRunning.store(false, ordering: .releasing)
      guard case .failure(let error) = result, !isCancelled.load(ordering: .relaxed) else { return }
      logger.warning("sweeping failed", metadata: ["error": "\(error.message)"])
      onFailure()
    }
  }
}
