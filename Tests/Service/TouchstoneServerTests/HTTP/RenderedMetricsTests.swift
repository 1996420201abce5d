// Scrapes share a rendering.

import DispatchRPC
import Synchronization
import Testing

@testable import TouchstoneServer

@Suite("Rendered metrics")
struct RenderedMetricsTests {
  private final class Counter: Sendable {
    let count = Mutex(0)
  }

  @Test("They are rendered at most once a second, however often they are scraped")
  func interval() {
    let counter = Counter()
    let metrics = RenderedMetrics {
      counter.count.withLock { count in
        count += 1
        return "\(count)"
      }
    }
    let start = MonotonicTime(nanoseconds: 5_000_000_000)
    for millisecond in 0..<1_000 {
      #expect(metrics.text(at: start.advanced(by: .milliseconds(millisecond))) == Array("1".utf8))
    }
    #expect(metrics.text(at: start.advanced(by: RenderedMetrics.interval)) == Array("2".utf8))
    #expect(counter.count.withLock { $0 } == 2)
  }
}
