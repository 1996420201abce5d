// Finds out that sealing stands still.

internal import DispatchPool

/// Until an event is sealed, it can be altered in the database without a trace. That takes milliseconds, unless the
/// database was tampered with.
struct SealingWatch: Sendable {
  /// The interval between two alarms, so that an operator notices them.
  private static let reminderInterval: Duration = .seconds(60)

  private let patience: Duration
  /// The log's end when unsealed events were first seen, and how long it may stay there.
  private var standstill: (end: UInt64, until: MonotonicTime)?
  private var failure: PostgresError?
  private var isQuietUntil = MonotonicTime(nanoseconds: 0)

  init(patience: Duration) {
    self.patience = patience
  }

  /// Answers the reason for an alarm, if it is time for one.
  mutating func looked(hasUnsealed: Bool, end: UInt64, at now: MonotonicTime) -> String? {
    guard hasUnsealed, let begun = standstill, begun.end == end else {
      standstill = hasUnsealed ? (end, now + patience) : nil
      failure = nil
      return nil
    }
    return now < begun.until ? nil : alarm(at: now)
  }

  /// For how long the end has stayed where it is; zero if nothing waits.
  func age(at now: MonotonicTime) -> Duration {
    guard let standstill else { return .zero }
    return max(.zero, now - standstill.until + patience)
  }

  mutating func failed(with error: PostgresError, at now: MonotonicTime) -> String? {
    failure = error
    // It does not pass by itself.
    if case .corrupt = error { return alarm(at: now) }
    return nil
  }

  private mutating func alarm(at now: MonotonicTime) -> String? {
    guard now >= isQuietUntil else { return nil }
    isQuietUntil = now + Self.reminderInterval
    return failure?.message ?? "the end of the audit log stays locked in the database (table event_chain)"
  }
}
