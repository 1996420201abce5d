// How many connections the process's descriptors allow, and the log lines when there are too few.

internal import DispatchRPC
internal import Glibc
internal import Logging
internal import Synchronization
internal import TouchstoneService

/// The number of files that the process may have open (RLIMIT_NOFILE). Each connection takes one.
struct DescriptorLimit {
  /// For the store's files or its connections to the database, listeners, keys, the configuration, archives and
  /// backups.
  static let reserve = 128
  /// An event loop's epoll and timer, and those of Dispatch beneath it.
  static let reservePerEventLoop = 4

  let count: Int

  /// The most that the system allows the process. Shells commonly set 1,024, and the system allows many more. `nil`:
  /// unknown.
  static func raised() -> DescriptorLimit? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    let before = limit.rlim_cur
    limit.rlim_cur = limit.rlim_max
    let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return DescriptorLimit(count: Int(clamping: isRaised ? limit.rlim_max : before))
  }

  /// The connections of each HTTP address have at most one in this many descriptors, because gRPC's connections need
  /// them more.
  private static let httpPart = 16

  /// The number of connections that leaves the reserve free. With very few descriptors, half of them are for
  /// connections.
  ///
  /// - Parameter others: the connections of other servers.
  func connections(eventLoops: Int, beside others: Int = 0) -> Int {
    max(count - Self.reserve - eventLoops * Self.reservePerEventLoop - others, count / 2 - others, 1)
  }

  /// The number of connections of one HTTP address.
  func httpConnections(wanted: Int) -> Int { max(1, min(wanted, count / Self.httpPart)) }

  /// Lowers the server's limit, so that connections make room for one another before descriptors run out.
  func bound(_ server: inout RPCServerConfiguration, beside others: Int, logger: Logger) {
    let wanted = server.maxConnections
    let most = connections(eventLoops: server.eventLoops, beside: others)
    guard most < wanted else { return }
    server.maxConnections = most
    logger.warning(
      """
      the process may open only \(count) files, so the service keeps at most \(most) connections and not \(wanted): raise \
      the limit of open files (LimitNOFILE of systemd, --ulimit nofile of a container, or ulimit -Hn), or lower \
      limits.connections
      """)
  }
}

/// Logs that a connection had to wait for a descriptor; throttled, as every connection may be the reason.
final class DescriptorLog: Sendable {
  private enum Line {
    case exhausted
  }

  private let throttle = Mutex(LogThrottle<Line>())
  private let logger: Logger

  init(_ logger: Logger) {
    self.logger = logger
  }

  func ranOut() {
    guard let suppressed = throttle.withLock({ $0.admit(.exhausted, at: .now()) }) else { return }
    logger.error(
      """
      a connection cannot be accepted, because the process or the machine has no free descriptors or memory: raise the \
      limit of open files, or lower limits.connections
      """, metadata: ["suppressed": "\(suppressed)"])
  }
}
