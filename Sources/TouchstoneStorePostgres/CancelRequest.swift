// Wakes a server process that nobody listens to any more.

internal import CPostgres
internal import Glibc
internal import Synchronization

/// A server process that waits for a standby does not notice that its client has gone, and keeps its place among
/// `max_connections`: asked to cancel, it goes on, finds that nobody listens, and ends. What it did stays in doubt: it may
/// say COMMIT, with a warning, but not to us.
///
/// `@unchecked Sendable`: libpq's copy of where and whom to ask is never changed.
final class CancelRequest: @unchecked Sendable {
  /// At a time: more than a process has connections for commits and lists. Where the server cannot be reached libpq waits
  /// for half a minute, in a thread of each one's own; those above are left out, and their processes wait as they would have.
  private static let maximumUnderWay = 16
  /// A process that wakes may find another transaction behind the first, and wait again, before it finds its client gone.
  private static let maximumRepetitions = 3
  private static let pauseMicroseconds: UInt32 = 100_000

  private static let underWay = Atomic(0)

  private let request: OpaquePointer
  private let repetitions: Int

  /// - Parameters:
  ///   - connection: of libpq's, that serves.
  ///   - transactions: on it that were not answered.
  init?(connection: OpaquePointer, transactions: Int) {
    guard let request = PQgetCancel(connection) else { return nil }
    self.request = request
    repetitions = min(transactions, Self.maximumRepetitions)
  }

  deinit {
    PQfreeCancel(request)
  }

  /// Once the connection is closed, and once.
  func send() {
    guard Self.underWay.add(1, ordering: .relaxed).newValue <= Self.maximumUnderWay else { return Self.ended() }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<CancelRequest>.fromOpaque(argument).takeRetainedValue().perform()
        CancelRequest.ended()
        return nil
      }, argument.toOpaque())
    guard code == 0 else {
      argument.release()
      return Self.ended()
    }
    pthread_detach(thread)
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
