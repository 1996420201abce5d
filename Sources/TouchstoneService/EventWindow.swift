// The latest events of the log, read once for all who watch: a value.

internal import TouchstoneStore

/// An event on its way to whoever watches.
struct WatchedEvent: Sendable {
  private(set) var record: EventRecord
  /// The answer that brings it, the same for all; `nil`: to be encoded by whoever sends it.
  private(set) var answer: [UInt8]?

  init(_ record: EventRecord, answer: [UInt8]? = nil) {
    self.record = record
    self.answer = answer
  }

  mutating func erase() {
    record = record.erased()
    answer = nil
  }

  /// Of memory, roughly: the answer's bytes are once more in the record, in texts of their own.
  fileprivate var size: Int { 512 + 2 * (answer?.count ?? 0) }
}

/// As `EventPage`.
struct WatchedPage: Sendable {
  var events: [WatchedEvent]
  var through: UInt64
}

/// All events after `start` and up to `through`. Bounded: the oldest go.
struct EventWindow: Sendable {
  /// A second and a half of a busy service; some 20 MB, as events commonly are.
  static let maximumEvents = 16_384
  /// Where callers' names for things are long, and events with them.
  static let maximumBytes = 48 << 20

  private struct Page: Sendable {
    /// Where the one before it ends.
    var after: UInt64
    var through: UInt64
    var events: [WatchedEvent]
    /// When it came; what was erased of it since counts until it goes.
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
    /// Events after the position, not all of them, and how far they go.
    case events(ArraySlice<WatchedEvent>, through: UInt64)
    /// There are none yet.
    case nothing
    /// The next one has left the window.
    case gone
  }

  func read(after position: UInt64) -> Reading {
    guard position >= start else { return .gone }
    guard position < through else { return .nothing }
    // The first page that reaches beyond the position.
    let page = pages[Self.firstIndex(below: pages.count) { pages[$0].through > position }]
    let first = Self.firstIndex(below: page.events.count) { page.events[$0].record.sequence > position }
    return .events(page.events[first...], through: page.through)
  }

  /// - Parameter page: all events after `through`, as far as it goes.
  mutating func append(_ page: WatchedPage) {
    guard page.through > through else { return }
    let bytes = page.events.reduce(0) { $0 + $1.size }
    pages.append(Page(after: through, through: page.through, events: page.events, byteCount: bytes))
    eventCount += page.events.count
    byteCount += bytes
    if eventCount > Self.maximumEvents || byteCount > Self.maximumBytes { dropOldest() }
    for event in page.events.compactMap(\.record.event) {
      for sequence in ProfileErasure.sequences(accountedBy: event) { erase(sequence) }
    }
  }

  private var isNearlyFull: Bool {
    eventCount > Self.maximumEvents / 8 * 7 || byteCount > Self.maximumBytes / 8 * 7
  }

  /// Many at a time, as the others move to the front.
  private mutating func dropOldest() {
    var dropped = 0
    while isNearlyFull, dropped < pages.count - 1 {
      eventCount -= pages[dropped].events.count
      byteCount -= pages[dropped].byteCount
      dropped += 1
    }
    pages.removeFirst(dropped)
  }

  /// Who comes to it after its erasure was told is not told what it was.
  private mutating func erase(_ sequence: UInt64) {
    guard sequence > start, sequence <= through else { return }
    let page = Self.firstIndex(below: pages.count) { pages[$0].through >= sequence }
    let events = pages[page].events
    let place = Self.firstIndex(below: events.count) { events[$0].record.sequence >= sequence }
    guard place < events.count, events[place].record.sequence == sequence else { return }
    pages[page].events[place].erase()
  }

  /// Of rising things; `count` where none is.
  private static func firstIndex(below count: Int, where isBehind: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
