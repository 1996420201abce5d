// A clock that stands still until a test moves it.

import Synchronization
import TouchstonePolicy

final class TestClock: Sendable {
  private let time = Mutex(UnixTime(seconds: 1_700_000_000))

  var now: UnixTime { time.withLock { $0 } }

  func advance(by duration: Duration) {
    time.withLock { $0 = $0 + duration }
  }
}
