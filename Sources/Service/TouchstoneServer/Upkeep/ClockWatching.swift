// Compares this machine's clock with the database's regularly, because each replica uses its own clock.

internal import Dispatch
internal import Logging
internal import TouchstonePolicy
internal import TouchstoneStore

/// A start refuses a difference of minutes. A smaller or later one is a warning.
final class ClockWatching: Sendable {
  private static let interval = DispatchTimeInterval.seconds(60)
  /// The difference that evaluations, tickets and tokens tolerate.
  private static let tolerance = EnrolmentPolicy().clockSkewTolerance

  /// Its queue guards the timer. Cancelling is safe from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// - Parameter noted: takes each difference: by how much this machine's clock is ahead.
  init(
    difference: @escaping OpenStore.ClockDifference, logger: Logger,
    noted: @escaping @Sendable (Duration) -> Void = { _ in }
  ) {
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "touchstone.clock-watcher", qos: .utility))
    timer.schedule(deadline: .now(), repeating: Self.interval)
    timer.setEventHandler {
      difference { result in
        // Without a database there is nothing to compare, and other parts report that.
        guard case .success(let difference) = result else { return }
        noted(difference)
        guard difference > Self.tolerance || .zero - difference > Self.tolerance else { return }
        logger.warning(
          "this machine's clock and the database's differ by more than is tolerated: set both by NTP",
          metadata: ["seconds_ahead": "\(difference.components.seconds)"])
      }
    }
    timer.activate()
  }

  func cancel() {
    timer.cancel()
  }
}
