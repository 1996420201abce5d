// The latest events of the log, read once for all watches: a value.

internal import TouchstoneStore

/// An event on its way to the watches.
struct WatchedEvent: Sendable {
  private(set) var record: EventRecord
  /// The encoded answer, the same for all watches; `nil`: each watch that sends the event encodes it.
  private(set) var answer: [UInt8]?

  init(_ record: EventRecord, answer: [UInt8]? = nil) {
    self.record = record
    self.answer = answer
  }

  mutating func erase() {
    record = record.erased()
    answer = nil
  }

  /// The memory that it takes, roughly. The record's texts hold the answer's bytes a second time.
  fileprivate var size: Int { 512 + 2 * (answer?.count ?? 0) }
}

/// An `EventPage` with encoded answers.
struct WatchedPage: Sendable {
  var events: [WatchedEvent]
  var through: UInt64
}

/// All events after `start` and up to `through`. When it is full, the oldest are dropped.
struct EventWindow: Sendable {
  /// A second and a half of a busy service. Events of the usual size take some 20 MB.
  static let maximumEvents = 16_384
  /// The bound if callers use long names, and events are therefore large.
  static let maximumBytes = 48 << 20

  private struct Page: Sendable {
    /// The end of the page before it.
    var after: UInt64
    var through: UInt64
    var events: [WatchedEvent]
    /// The size at its arrival. Erased events count until the page is dropped.
    var byteCount: Int
  }

  private var pages: [Page] = []
  private var eventCount = 0
  private var byteCount = 0
  private let beginning: UInt64

  init(after sequence: UInt64) {
    beginning = sequence
  }

  private var start: UInt64 { pages.first?.after ?? beginning }
  var through: UInt64 { pages.last?.through ?? beginning }

  enum Reading: Sendable {
    /// Some of the events after the position, and the sequence up to which they go.
    case events(ArraySlice<WatchedEvent>, through: UInt64)
    /// There are no events after the position yet.
    case nothing
    /// The position is beyond the window: another process sealed events that are not in it yet, or there are no such
    /// events.
    case ahead
    /// The next event has left the window.
    case gone
  }

  func read(after position: UInt64) -> Reading {
    guard position >= start else { return .gone }
    guard position < through else { return position == through ? .nothing : .ahead }
    // The first page that reaches beyond the position.
    let page = pages[Self.firstIndex(below: pages.count) { pages[$0].through > position }]
    let first = Self.firstIndex(below: page.events.count) { page.events[$0].record.sequence > position }
    return .events(page.events[first...], through: page.through)
  }

  /// - Parameter page: all events from `through` to its own end.
  mutating func append(_ page: WatchedPage) {
    guard page.through > through else { return }
    let bytes = page.events.reduce(0) { $0 + $1.size }
    pages.append(Page(after: through, through: page.through, events: page.events, byteCount: bytes))
    eventCount += page.events.count
    byteCount += bytes
    if eventCount > Self.maximumEvents || byteCount > Self.maximumBytes { dropOldest() }
    for event in page.events.compactMap(\.record.event) {
      for erasure in ProfileErasure.events(accountedBy: event) { erase(erasure.sequence) }
    }
  }

  private var isNearlyFull: Bool {
    eventCount > Self.maximumEvents / 8 * 7 || byteCount > Self.maximumBytes / 8 * 7
  }

  /// Drops many at a time, because the rest then moves to the front.
  private mutating func dropOldest() {
    var dropped = 0
    while isNearlyFull, dropped < pages.count - 1 {
      eventCount -= pages[dropped].events.count
      byteCount -= pages[dropped].byteCount
      dropped += 1
    }
    pages.removeFirst(dropped)
  }

  /// A watch that reaches the event after its erasure does not send its content.
  private mutating func erase(_ sequence: UInt64) {
    guard sequence > start, sequence <= through else { return }
    let page = Self.firstIndex(below: pages.count) { pages[$0].through >= sequence }
    let events = pages[page].events
    let place = Self.firstIndex(below: events.count) { events[$0].record.sequence >= sequence }
    guard place < events.count, events[place].record.sequence == sequence else { return }
    pages[page].events[place].erase()
  }

  /// Binary search over rising values; returns `count` if there is none.
  private static func firstIndex(below count: Int, where isBehind: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
