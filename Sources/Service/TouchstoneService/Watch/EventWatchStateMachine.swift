// One watch: a value without stream, store or timer.

/// Keeps the position up to which events were sent, and whether the client reads fast enough. Older events come from
/// the store; at the log's end, new ones come from the window that all watches share.
struct EventWatchStateMachine {
  private enum State {
    case catchingUp
    /// The store is reading a page.
    case reading
    case live
  }

  /// If a client reads nothing for this time, its watch ends after once to twice this time.
  static let stallLimit = Duration.seconds(10)

  private var state = State.catchingUp
  /// Every matching event up to here was sent, and none after it.
  private(set) var position: UInt64
  /// The client left events unread, since it was last at the log's end.
  private var hasStalled = false
  private var isStalled = false
  private var stallNumber = 0
  private var isTimerSet = false

  init(after sequence: UInt64) {
    position = sequence
  }

  enum OnWindow {
    /// Send the matching events. After all are sent, the position is `through`.
    case send(ArraySlice<WatchedEvent>, through: UInt64)
    /// Wait for new events, or for the page.
    case wait
    /// Read the events after the position from the store.
    case readPage
    /// End the watch: the client is too slow.
    case cut
  }

  /// The window returned the events after the position. `nil`: there is no window yet.
  mutating func windowRead(_ reading: EventWindow.Reading?) -> OnWindow {
    if case .reading = state { return .wait }
    switch reading {
    case .events(let events, let through):
      state = .live
      return .send(events, through: through)
    case .nothing:
      state = .live
      hasStalled = false
      return .wait
    case .ahead:
      // Only the store knows whether there is such an event.
      guard case .catchingUp = state else { return .wait }
      state = .reading
      return .readPage
    case .gone:
      if case .live = state, hasStalled { return .cut }
      state = .reading
      return .readPage
    case nil:
      // Stored events need not wait for the window.
      guard case .catchingUp = state else { return .wait }
      state = .reading
      return .readPage
    }
  }

  /// The page was read, and sent as far as the client reads.
  ///
  /// - Parameter isAtEnd: all of it was sent, and no later event in the log matched.
  mutating func pageRead(isAtEnd: Bool) {
    // If there is no window yet, later events wait for it.
    state = isAtEnd ? .live : .catchingUp
  }

  /// Every matching event up to this sequence was sent.
  mutating func sent(through sequence: UInt64) {
    position = max(position, sequence)
  }

  // MARK: Slow callers

  /// There may be more to send, but the client must read first. True: set the timer.
  mutating func stalled() -> Bool {
    hasStalled = true
    if !isStalled {
      isStalled = true
      stallNumber += 1
    }
    defer { isTimerSet = true }
    return !isTimerSet
  }

  mutating func becameWritable() {
    isStalled = false
  }

  enum OnTimer: Equatable {
    case nothing
    case setAgain
    case cut
  }

  /// - Parameter number: `stall` when it was set.
  mutating func timerFired(setAt number: Int) -> OnTimer {
    isTimerSet = false
    guard isStalled else { return .nothing }
    guard number != stallNumber else { return .cut }
    isTimerSet = true
    return .setAgain
  }

  /// Identifies the present stall.
  var stall: Int { stallNumber }
}
