// Compares this machine's clock with the database's, now and then: replicas go by their own ones.

internal import Dispatch
internal import Logging
internal import TouchstonePolicy
internal import TouchstoneStore
internal import TouchstoneStorePostgres

/// A start refuses what is minutes apart; what drifts later, or is less, is said.
final class ClockWatching: Sendable {
  private static let interval = DispatchTimeInterval.seconds(60)
  /// What everything that replicas make is tolerated with.
  private static let tolerance = EnrolmentPolicy().clockSkewTolerance

  /// The guard of the timer is its queue; cancelling is safe from anywhere.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// `nil` where there is no clock but ours.
  init?(store: any Store, logger: Logger) {
    guard let store = store as? PostgresStore else { return nil }
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "touchstone.clock-watcher", qos: .utility))
    timer.schedule(deadline: .now(), repeating: Self.interval)
    timer.setEventHandler {
      store.clockDifference { result in
        // Without a database there is nothing to compare, and others say so.
        guard case .success(let difference) = result, difference > Self.tolerance || .zero - difference > Self.tolerance
        else { return }
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
