// Decides when the log is read for watches: a value without store or threads.

/// Reads while there are watches, beginning at the log's end when the first one came. It reads a page whenever the
/// store signals new events, one page at a time. A failure ends the open watches, and the next watch begins a new life
/// of the feed.
struct EventFeedStateMachine {
  private enum State {
    case idle
    case starting
    /// - Parameter hasRung: the store signalled new events after the read in progress began.
    case following(EventWindow, isReading: Bool, hasRung: Bool)
  }

  /// A read of the store. Its number identifies the feed's life, so that an answer for an earlier life is dropped.
  enum Read: Equatable {
    case head(life: UInt64)
    case page(after: UInt64, life: UInt64)
  }

  /// One read takes a millisecond or two.
  static let pageLimit = 512

  private var state = State.idle
  private var watcherCount = 0
  private var life: UInt64 = 0

  var isIdle: Bool {
    if case .idle = state { true } else { false }
  }

  /// `nil`: the feed does not follow the log yet.
  func read(after position: UInt64) -> EventWindow.Reading? {
    guard case .following(let window, _, _) = state else { return nil }
    return window.read(after: position)
  }

  mutating func watcherCame() -> Read? {
    watcherCount += 1
    guard case .idle = state else { return nil }
    life += 1
    state = .starting
    return .head(life: life)
  }

  /// Without watches the feed keeps nothing.
  mutating func watcherLeft() {
    watcherCount -= 1
    if watcherCount == 0 { stop() }
  }

  private mutating func stop() {
    life += 1
    state = .idle
  }

  mutating func headRead(_ sequence: UInt64, life: UInt64) -> Read? {
    guard case .starting = state, life == self.life else { return nil }
    // Events that were appended before the feed began to listen may cause no signal.
    return read(into: EventWindow(after: sequence))
  }

  mutating func rang() -> Read? {
    guard case .following(let window, let isReading, _) = state else { return nil }
    guard !isReading else {
      state = .following(window, isReading: true, hasRung: true)
      return nil
    }
    return read(into: window)
  }

  mutating func pageRead(_ page: WatchedPage, life: UInt64) -> Read? {
    guard life == self.life, case .following(var window, _, let hasRung) = state else { return nil }
    // Otherwise the window would have two references, and the change would copy its pages.
    state = .starting
    window.append(page)
    if hasRung || page.events.count == Self.pageLimit { return read(into: window) }
    state = .following(window, isReading: false, hasRung: false)
    return nil
  }

  /// True if the failure concerns the present watches.
  mutating func readFailed(life: UInt64) -> Bool {
    guard life == self.life else { return false }
    stop()
    return true
  }

  private mutating func read(into window: EventWindow) -> Read {
    state = .following(window, isReading: true, hasRung: false)
    return .page(after: window.through, life: life)
  }
}
