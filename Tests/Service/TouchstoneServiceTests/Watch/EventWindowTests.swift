import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneService

struct EventWindowTests {
  @Test func anEmptyWindowHasNothingAfterItsStartAndKnowsNothingOfBefore() {
    let window = EventWindow(after: 10)
    #expect(reading(window, after: 10) == [])
    #expect(reading(window, after: 9) == nil)
    guard case .ahead = window.read(after: 11) else { return #expect(Bool(false), "it knows what is beyond it") }
  }

  @Test func everyPositionFindsWhatComesNext() {
    var window = EventWindow(after: 10)
    window.append(page(11...13))
    window.append(page(14...14))
    window.append(page(15...19))
    for position in 10...18 as ClosedRange<UInt64> {
      #expect(reading(window, after: position)?.first == position + 1)
    }
    #expect(reading(window, after: 11) == [12, 13])
    #expect(reading(window, after: 19) == [])
    #expect(reading(window, after: 9) == nil)
  }

  @Test func whatWasReadBeforeIsNotReadTwice() {
    var window = EventWindow(after: 0)
    window.append(page(1...5))
    window.append(page(1...5))
    #expect(window.through == 5)
    #expect(reading(window, after: 0) == [1, 2, 3, 4, 5])
  }

  @Test func theOldestGo() {
    var window = EventWindow(after: 0)
    var next: UInt64 = 1
    while next < 40_000 {
      window.append(page(next...(next + 511)))
      next += 512
    }
    #expect(reading(window, after: 0) == nil)
    #expect(reading(window, after: window.through - 12_000) != nil)
    #expect(reading(window, after: window.through - UInt64(EventWindow.maximumEvents) - 1) == nil)
  }

  @Test func largeOnesGoSooner() {
    var window = EventWindow(after: 0)
    let bytesOfOne = 64 << 10
    var kept = 0
    // Three times as many as there is room for, long before they are too many.
    let count = UInt64(3 * EventWindow.maximumBytes / bytesOfOne)
    for first in stride(from: 1, through: count, by: 16) {
      window.append(page(first...first + 15, answer: [UInt8](repeating: 1, count: bytesOfOne)))
      let start = (0...window.through).first { reading(window, after: $0) != nil } ?? 0
      kept = max(kept, Int(window.through - start) * bytesOfOne)
    }
    #expect(count < EventWindow.maximumEvents)
    // Each is there twice: as a record, and as an answer.
    #expect(kept <= EventWindow.maximumBytes / 2)
    #expect(kept > EventWindow.maximumBytes / 3)
  }

  // R41
  @Test func whatIsErasedIsErasedHereToo() throws {
    var window = EventWindow(after: 0)
    window.append(page(1...5))
    window.append(page(6...9))
    let account = try #require(
      ProfileErasure.sample("alice").accounts(
        ofErased: [0, 2, 7, 9, 99].map { ErasedEvent(sequence: $0, digest: [UInt8](repeating: 1, count: 32)) }
      ).first)
    let record = EventRecord(sequence: 10, content: .whole(account, salt: .random()), hash: [10])
    window.append(WatchedPage(events: [WatchedEvent(record, answer: [1])], through: 10))
    var erased: [UInt64] = []
    var position: UInt64 = 0
    while case .events(let events, let through) = window.read(after: position) {
      erased += events.filter(\.record.isErased).map(\.record.sequence)
      // An erased event's encoding goes with it.
      #expect(events.allSatisfy { ($0.answer == nil) == $0.record.isErased })
      position = through
    }
    #expect(erased == [2, 7, 9])
  }

  /// `nil`: gone.
  private func reading(_ window: EventWindow, after position: UInt64) -> [UInt64]? {
    switch window.read(after: position) {
    case .gone: return nil
    case .nothing, .ahead: return []
    case .events(let events, let through):
      #expect(events.last?.record.sequence == through)
      return events.map(\.record.sequence)
    }
  }

  private func page(_ sequences: ClosedRange<UInt64>, answer: [UInt8] = [1]) -> WatchedPage {
    let events = sequences.map { sequence in
      let record = EventRecord(sequence: sequence, content: .whole(.sample(), salt: .random()), hash: [1])
      return WatchedEvent(record, answer: answer)
    }
    return WatchedPage(events: events, through: sequences.upperBound)
  }
}

struct EventFeedStateMachineTests {
  private var feed = EventFeedStateMachine()

  @Test mutating func itReadsFromTheLogsEndOnAndAPageForEachRing() {
    #expect(feed.watcherCame() == .head(life: 1))
    #expect(feed.watcherCame() == nil)
    #expect(feed.read(after: 0) == nil)
    #expect(feed.headRead(7, life: 1) == .page(after: 7, life: 1))
    #expect(feed.pageRead(WatchedPage(events: [], through: 7), life: 1) == nil)
    #expect(feed.rang() == .page(after: 7, life: 1))
    #expect(feed.pageRead(WatchedPage(events: [], through: 9), life: 1) == nil)
    #expect(feed.rang() == .page(after: 9, life: 1))
  }

  @Test mutating func whatRingsWhileItReadsIsReadAfterwards() {
    _ = feed.watcherCame()
    _ = feed.headRead(7, life: 1)
    for _ in 0..<3 { #expect(feed.rang() == nil) }
    #expect(feed.pageRead(WatchedPage(events: [], through: 8), life: 1) == .page(after: 8, life: 1))
    #expect(feed.pageRead(WatchedPage(events: [], through: 8), life: 1) == nil)
  }

  @Test mutating func aFullPageIsFollowedByTheNext() {
    _ = feed.watcherCame()
    _ = feed.headRead(0, life: 1)
    let events = (1...512 as ClosedRange<UInt64>).map {
      WatchedEvent(EventRecord(sequence: $0, content: .erased(digest: []), hash: []))
    }
    #expect(feed.pageRead(WatchedPage(events: events, through: 512), life: 1) == .page(after: 512, life: 1))
  }

  @Test mutating func nothingIsReadForNobodyAndLateAnswersAreForgotten() {
    _ = feed.watcherCame()
    _ = feed.headRead(7, life: 1)
    feed.watcherLeft()
    #expect(feed.isIdle)
    #expect(feed.rang() == nil)
    #expect(feed.pageRead(WatchedPage(events: [], through: 8), life: 1) == nil)
    let concernsSomebody = feed.readFailed(life: 1)
    #expect(!concernsSomebody)
    guard case .head(let life)? = feed.watcherCame() else {
      Issue.record("the next one begins anew")
      return
    }
    #expect(feed.headRead(7, life: 1) == nil)
    #expect(feed.headRead(9, life: life) == .page(after: 9, life: life))
  }

  @Test mutating func aFailureIsForWhoeverWatchesAndTheNextOneBeginsAnew() {
    _ = feed.watcherCame()
    let concernsSomebody = feed.readFailed(life: 1)
    #expect(concernsSomebody)
    #expect(feed.isIdle)
    #expect(feed.watcherCame() != nil)
    feed.watcherLeft()
    #expect(!feed.isIdle)
  }
}
