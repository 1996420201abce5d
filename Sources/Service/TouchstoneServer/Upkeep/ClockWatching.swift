// Compares this machine's clock with the database's regularly, because each replica uses its own clock.

internal import Logging
internal import TouchstonePolicy
internal import TouchstoneStore

/// A start refuses a difference of minutes. A smaller or later one is a warning.
enum ClockWatching {
  private static let interval = Duration.seconds(60)
  /// The difference that evaluations, tickets and tokens tolerate.
  private static let tolerance = EnrolmentPolicy().clockSkewTolerance

  /// - Parameter noted: takes each difference: by how much this machine's clock is ahead.
  static func begin(
    difference: @escaping @Sendable (@escaping @Sendable (Result<Duration, StoreError>) -> Void) -> Void,
    logger: Logger, noted: @escaping @Sendable (Duration) -> Void = { _ in }
  ) -> Repeating {
    let repeating = Repeating(every: interval, label: "clock-watcher")
    repeating.begin(atOnce: true) {
      difference { result in
        // Without a database there is nothing to compare, and other parts report that.
        guard case .success(let difference) = result else { return }
        noted(difference)
        guard difference > tolerance || .zero - difference > tolerance else { return }
        logger.warning(
          "this machine's clock and the database's differ by more than is tolerated: set both by NTP",
          metadata: ["seconds_ahead": "\(difference.components.seconds)"])
      }
    }
    return repeating
  }
}
