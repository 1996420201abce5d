internal import Synchronization
internal import TouchstoneClient
internal import TouchstonePolicy
internal import TouchstoneStore

/// The machine's time, moved forward as the story needs. The service and Ada's phone both read it, so that minutes of
/// waiting pass in a moment.
final class DemoClock: Sendable {
  private let lead = Mutex(Duration.zero)

  var now: UnixTime { systemTime() + lead.withLock { $0 } }

  func advance(by duration: Duration) {
    lead.withLock { $0 += duration }
  }

  var timestamp: V1.Timestamp {
    let now = now
    return V1.Timestamp(seconds: now.seconds, nanoseconds: Int32((now.microseconds % 1_000_000) * 1_000))
  }
}
