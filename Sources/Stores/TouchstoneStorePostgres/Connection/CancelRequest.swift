// Wakes a server process whose client has gone.

internal import CPostgres
internal import EventLoops
internal import Glibc
internal import Synchronization

/// A server process that waits for a standby does not notice that its client has gone, and keeps its place among
/// `max_connections`. A cancel request wakes it; it finds its client gone, and ends. Its transaction stays in doubt:
/// the process may send COMMIT with a warning, but this process no longer receives it.
///
/// `@unchecked Sendable`: libpq's copy of the server's address is never changed.
final class CancelRequest: @unchecked Sendable {
  /// Requests at one time: more than a process has connections for commits and lists. If the server is unreachable,
  /// libpq blocks a thread for half a minute for each request. Requests above the limit are not sent.
  private static let maximumUnderWay = 16
  /// A process that wakes may find another transaction after the first, and wait again, before it finds its client
  /// gone.
  private static let maximumRepetitions = 3
  private static let pauseMicroseconds: UInt32 = 100_000

  private static let underWay = Atomic(0)

  private let request: OpaquePointer
  private let repetitions: Int

  /// - Parameters:
  ///   - connection: libpq's connection.
  ///   - transactions: the number of its unanswered transactions.
  init?(connection: OpaquePointer, transactions: Int) {
    guard let request = PQgetCancel(connection) else { return nil }
    self.request = request
    repetitions = min(transactions, Self.maximumRepetitions)
  }

  deinit {
    PQfreeCancel(request)
  }

  /// Must be called once, after the connection is closed.
  func send() {
    guard Self.underWay.add(1, ordering: .relaxed).newValue <= Self.maximumUnderWay else { return Self.ended() }
    let isStarted = startThread("pg.cancel") { [self] in
      perform()
      Self.ended()
    }
    if !isStarted { Self.ended() }
  }

  private func perform() {
    for repetition in 0..<repetitions {
      if repetition > 0 { usleep(Self.pauseMicroseconds) }
      var message = [CChar](repeating: 0, count: 256)
      guard PQcancel(request, &message, Int32(message.count)) == 1 else { return }
    }
  }

  private static func ended() {
    underWay.subtract(1, ordering: .relaxed)
  }
}
