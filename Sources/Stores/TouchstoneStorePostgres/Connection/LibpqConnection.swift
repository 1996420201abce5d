// One connection of libpq, and how it is made.

internal import CPostgres
internal import EventLoops
internal import Glibc
internal import Synchronization

/// Closed when it is released.
///
/// `@unchecked Sendable`: one thread at a time uses it. `connect` hands it over, and does not touch it again.
final class LibpqConnection: @unchecked Sendable {
  let pointer: OpaquePointer

  private init(owning pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    PQfinish(pointer)
  }

  /// -1 as soon as libpq finds it dead, and closes it.
  var socket: Int32 { PQsocket(pointer) }

  /// Without the connection string, which libpq does not quote. `nil`: nothing has failed.
  var failure: String? {
    guard let message = PQerrorMessage(pointer) else { return Self.outOfMemory }
    // One line, and perhaps a hint on a second line, after a tab.
    let text = String(cString: message).split { $0 == "\n" || $0 == "\t" }.joined(separator: "; ")
    return text.isEmpty ? nil : text
  }

  static let outOfMemory = "out of memory"
  static let isLate = "not connected in time"

  // MARK: Connecting

  enum Outcome: Sendable {
    case connected(LibpqConnection)
    case failed(reason: String)
  }

  /// Attempts under way at one host: more than the lanes of some stores have connections there. An attempt ends at its
  /// deadline, but for one whose name server is silent: libpq returns after half a minute. Another host's attempts do
  /// not wait for those.
  private static let maximumUnderWay = 128
  private static let underWay = Mutex<[String: Int]>([:])

  /// Connects on a thread of its own, because libpq blocks while it looks up a name, and checks certificates and
  /// passwords for milliseconds. It is connected when the server has accepted the user.
  ///
  /// - Parameter completion: runs once, on that thread or on the caller's.
  static func connect(
    to target: ConnectionTarget, until deadline: MonotonicTime, completion: @escaping @Sendable (Outcome) -> Void
  ) {
    let host = target.value(of: "hostaddr") ?? target.value(of: "host") ?? ""
    guard begin(at: host) else {
      return completion(.failed(reason: "\(maximumUnderWay) attempts to connect to this host are under way"))
    }
    let isStarted = startThread("pg.connect") {
      let outcome = connect(to: target, until: deadline)
      ended(at: host)
      completion(outcome)
    }
    guard !isStarted else { return }
    ended(at: host)
    completion(.failed(reason: "no thread left to connect"))
  }

  private static func begin(at host: String) -> Bool {
    underWay.withLock { underWay in
      guard underWay[host, default: 0] < maximumUnderWay else { return false }
      underWay[host, default: 0] += 1
      return true
    }
  }

  private static func ended(at host: String) {
    underWay.withLock { $0[host, default: 0] -= 1 }
  }

  private static func connect(to target: ConnectionTarget, until deadline: MonotonicTime) -> Outcome {
    let settings = target.settings
    // The 0: `dbname` is not to be read as a connection string again.
    let pointer = withCStrings(settings.map(\.keyword)) { keywords in
      withCStrings(settings.map(\.value)) { values in PQconnectStartParams(keywords, values, 0) }
    }
    guard let pointer else { return .failed(reason: outOfMemory) }
    let connection = LibpqConnection(owning: pointer)
    // Otherwise libpq would write them to stderr.
    PQsetNoticeReceiver(pointer, { _, _ in }, nil)
    // As if PQconnectPoll had returned it (libpq, PQconnectStart).
    var polling = PGRES_POLLING_WRITING
    while PQstatus(pointer) != CONNECTION_BAD, polling != PGRES_POLLING_OK {
      guard polling == PGRES_POLLING_READING || polling == PGRES_POLLING_WRITING else { break }
      guard connection.waits(for: polling, until: deadline) else { return .failed(reason: isLate) }
      polling = PQconnectPoll(pointer)
    }
    guard polling == PGRES_POLLING_OK else {
      return .failed(reason: connection.failure ?? "the connection was refused")
    }
    return .connected(connection)
  }

  /// False once the deadline has passed. The socket may be another one after each step.
  private func waits(for polling: PostgresPollingStatusType, until deadline: MonotonicTime) -> Bool {
    let events = Int16(polling == PGRES_POLLING_READING ? POLLIN : POLLOUT)
    var watched = pollfd(fd: socket, events: events, revents: 0)
    while true {
      let now = MonotonicTime.now()
      guard now < deadline else { return false }
      // -1: a signal's handler ran. 0: too early by less than a millisecond, or late.
      let milliseconds = Int32(clamping: (deadline.nanoseconds - now.nanoseconds) / 1_000_000 + 1)
      if poll(&watched, 1, milliseconds) > 0 { return true }
    }
  }
}
