// When the log is read for those who watch: a value without store or threads.

internal import TouchstoneStore

/// Reads while somebody watches: from where the log ended when the first one came, a page whenever the store rings, one at
/// a time. After a failure, whoever watches is told, and it begins anew with the next one who comes.
struct EventFeedStateMachine {
  private enum State {
    case idle
    case starting
    /// - Parameter hasRung: since the page was asked for that is being read.
    case following(EventWindow, isReading: Bool, hasRung: Bool)
  }

  /// What is asked of the store; an answer to an earlier life of the feed is told by its number.
  enum Read: Equatable {
    case head(life: UInt64)
    case page(after: UInt64, life: UInt64)
  }

  /// In one read: a millisecond or two.
  static let pageLimit = 512

  private var state = State.idle
  private var watcherCount = 0
  private var life: UInt64 = 0

  var isIdle: Bool {
    if case .idle = state { true } else { false }
  }

  /// `nil`: it does not follow yet.
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

  /// Nothing is kept for nobody.
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
    // What was appended before it began to listen may not ring any more.
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
    // Else there were two of the window, and the change would copy its pages.
    state = .starting
    window.append(page)
    if hasRung || page.events.count == Self.pageLimit { return read(into: window) }
    state = .following(window, isReading: false, hasRung: false)
    return nil
  }

  /// True where it concerns whoever watches now.
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
