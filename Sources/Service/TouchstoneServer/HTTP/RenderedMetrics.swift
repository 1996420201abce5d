// The text of all metrics for scrapes, rendered at most once a second.

internal import DispatchRPC
internal import Synchronization

final class RenderedMetrics: Sendable {
  /// Monitoring scrapes every 15 s or more seldom. Without a bound, clients that scrape without a pause keep a core
  /// busy.
  static let interval = Duration.seconds(1)

  private struct Rendering {
    var text: [UInt8]
    var time: MonotonicTime
  }

  private let render: @Sendable () -> String
  private let last = Mutex<Rendering?>(nil)

  /// - Parameter render: returns the text, as Prometheus reads it. It must not block.
  init(_ render: @escaping @Sendable () -> String) {
    self.render = render
  }

  /// Two addresses that scrape at one time share the rendering, too.
  func text(at now: MonotonicTime) -> [UInt8] {
    last.withLock { last in
      if let last, last.time.duration(to: now) < Self.interval { return last.text }
      let rendering = Rendering(text: Array(render().utf8), time: now)
      last = rendering
      return rendering.text
    }
  }
}
