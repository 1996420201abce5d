// One who watches events: a value without stream, store or timer.

/// Knows up to where events were sent, and how fast they are taken. At first, older events are read from the store; at the
/// log's end, new ones from the window that all share.
struct EventWatchStateMachine {
  private enum State {
    case catchingUp
    /// A page is on its way.
    case reading
    case live
  }

  /// Once a caller takes nothing for so long, it is sent away; at most twice as long.
  static let stallLimit = Duration.seconds(10)

  private var state = State.catchingUp
  /// Everything that matches up to here was sent, and nothing behind it.
  private(set) var position: UInt64
  /// The caller took nothing when there was something; since it was last at the log's end.
  private var hasStalled = false
  private var isStalled = false
  private var stallNumber = 0
  private var isTimerSet = false

  init(after sequence: UInt64) {
    position = sequence
  }

  enum OnWindow {
    /// What matches, and all of it sent is sent through this sequence.
    case send(ArraySlice<WatchedEvent>, through: UInt64)
    /// Until there is news, or the page is here.
    case wait
    /// Ask the store for the events after the position.
    case readPage
    /// The caller is too slow.
    case cut
  }

  /// The window was asked for what comes after the position. `nil`: there is no window yet.
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
    case .gone:
      if case .live = state, hasStalled { return .cut }
      state = .reading
      return .readPage
    case nil:
      // What is stored need not wait for the window.
      guard case .catchingUp = state else { return .wait }
      state = .reading
      return .readPage
    }
  }

  /// The page is here and sent, as far as the caller took it.
  ///
  /// - Parameter isAtEnd: all of it was sent, and nothing else in the log matched.
  mutating func pageRead(isAtEnd: Bool) {
    // Where there is no window yet, what follows waits for it.
    state = isAtEnd ? .live : .catchingUp
  }

  /// What matches up to this sequence was sent.
  mutating func sent(through sequence: UInt64) {
    position = max(position, sequence)
  }

  // MARK: Slow callers

  /// There may be more to send and the caller has to take some first. True: set the timer.
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

  /// Names the time in which nothing was taken.
  var stall: Int { stallNumber }
}
