// Keeps a failure of every call from filling the log, and a log whose reader is stuck from delaying the calls.

package import DispatchRPC

/// Admits one line of each kind an interval, and counts the rest.
///
/// A frequent kind never keeps back a rare one, which may be the line that tells the operator what to do. Kinds are
/// enumerations of a few cases, whose number bounds both the lines and the memory.
package struct LogThrottle<Kind: Hashable & Sendable> {
  /// Often enough for an operator to see that it goes on.
  private static var interval: Duration { .seconds(1) }

  private struct Window {
    var next: MonotonicTime
    var suppressed = 0
  }

  private var windows: [Kind: Window] = [:]

  package init() {}

  /// Returns how many lines of this kind were kept back since its last one; `nil`: this one is, too.
  package mutating func admit(_ kind: Kind, at now: MonotonicTime) -> Int? {
    guard var window = windows[kind], now < window.next else {
      let suppressed = windows[kind]?.suppressed ?? 0
      windows[kind] = Window(next: now.advanced(by: Self.interval))
      return suppressed
    }
    window.suppressed += 1
    windows[kind] = window
    return nil
  }
}
