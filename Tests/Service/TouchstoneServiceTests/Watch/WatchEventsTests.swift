import DispatchRPC
import StoreConformance
import StoreModel
import TestSupport
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneStore

@testable import TouchstoneService

/// WatchEvents: the log as it grows, from after a sequence, to each as fast as it is taken (R41).
struct WatchEventsTests {
  private static let application = Sample.application
  private let bench = InProcessService()

  // MARK: Events that a watch sends

  @Test func firstComesWhatIsStoredAndThenWhatHappens() throws {
    bench.commit(events: samples(300))
    let watch = try watch(after: 100)
    #expect(try sequences(watch) == Array(101...300))
    bench.commit(events: samples(2))
    bench.commit(events: samples(1))
    #expect(try sequences(watch) == Array(101...303))
    #expect(watch.ending == nil)
  }

  @Test func anEventIsTheSameAsInTheList() throws {
    bench.commit(events: samples(3))
    let watch = try watch()
    bench.commit(events: samples(3))
    #expect(try watch.messages(V1.WatchEventsResponse.self).map(\.event) == list())
  }

  @Test func theFilterIsThatOfTheList() throws {
    let filters = [
      V1.EventFilter(applicationID: Self.application),
      V1.EventFilter(applicationID: Self.application, profileID: "alice"),
      V1.EventFilter(applicationID: Self.application, kinds: ["device.u", "secret.set"]),
      V1.EventFilter(applicationID: "none"), V1.EventFilter(), V1.EventFilter(kinds: ["device."]),
    ]
    let drafts = ["device.refused", "device.unlocked", "secret.set"].flatMap { kind in
      ["alice", "bob", ""].flatMap { profile in
        [Self.application, "other"].map { EventDraft.sample(kind, application: $0, profile: profile) }
      }
    }
    bench.commit(events: drafts)
    let watches = try filters.map { try watch($0) }
    bench.commit(events: drafts)
    for (filter, watch) in zip(filters, watches) {
      #expect(try watch.messages(V1.WatchEventsResponse.self).map(\.event) == list(filter), "\(filter)")
    }
  }

  @Test(arguments: [
    (V1.EventFilter(applicationID: "a\u{7F}"), "filter.application_id"),
    (V1.EventFilter(applicationID: "bank", profileID: "\n"), "filter.profile_id"),
    (V1.EventFilter(applicationID: "bank", kinds: [""]), "filter.kinds[0]"),
    (V1.EventFilter(kinds: ["device.", "evaluation.suceeded"]), "filter.kinds[1]"),
    (V1.EventFilter(deviceID: "a\nb"), "filter.device_id"),
    (V1.EventFilter(bindingID: String(repeating: "a", count: 129)), "filter.binding_id"),
    (V1.EventFilter(caller: "\u{7F}"), "filter.caller"), (V1.EventFilter(reason: "\t"), "filter.reason"),
    (V1.EventFilter(applicationID: "bank", kinds: Array(repeating: "device.", count: 33)), "filter.kinds"),
  ])
  func whatIsWrongIsNamed(_ filter: V1.EventFilter, _ field: String) throws {
    let error = try #require(try watch(filter).error)
    #expect(error.code == .invalidArgument)
    #expect(error.fields == [field])
  }

  // MARK: No loss, no repetition

  /// Callers of all speeds that are cut at any time and resume after what they got last, while events come in batches.
  @Test(arguments: 0..<4) func whatResumedWatchesGotIsWhatTheListHas(_ seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    var watchers = [1, 3, 64, .max].map { ResumingWatcher(room: $0) }
    for _ in 0..<250 {
      switch chance.next() % 10 {
      case 0..<4: bench.commit(events: samples(Int(chance.next() % 12)))
      case 4: bench.commit(events: samples(Int(chance.next() % 150)))
      default:
        let index = Int(chance.next() % UInt64(watchers.count))
        switch chance.next() % 8 {
        case 0: watchers[index].cut()
        case 1..<3: watchers[index].take(.max)
        default: watchers[index].take(Int(chance.next() % 90))
        }
        if watchers[index].stream == nil {
          watchers[index].stream = try watch(after: watchers[index].position, room: watchers[index].room)
        }
      }
      bench.settle()
    }
    let all = bench.store.records.events.filter { $0.sequence > 0 }.map(\.sequence)
    #expect(all.count > 1_000)
    for var watcher in watchers {
      if watcher.stream == nil { watcher.stream = try watch(after: watcher.position, room: watcher.room) }
      for _ in 0..<all.count where watcher.got.count < all.count {
        watcher.take(.max)
        bench.settle()
      }
      #expect(watcher.got == all, "seed \(seed), room \(watcher.room)")
    }
  }

  // MARK: Slow callers

  @Test func whoTakesNothingForTenSecondsIsCutAndToldWhereToGoOn() throws {
    bench.commit(events: samples(10))
    let watch = try watch(room: 4)
    #expect(watch.sent.count == 4)
    // Maybe it took something since the timer was set.
    bench.timer.fire()
    bench.settle()
    if watch.ending == nil { bench.timer.fire() }
    bench.settle()
    expectCut(watch, after: 4)
  }

  @Test func whoTakesSomethingNowAndThenIsNotCut() throws {
    bench.commit(events: samples(40))
    let watch = try watch(room: 4)
    for _ in 0..<20 {
      watch.take(2)
      bench.timer.fire()
      bench.settle()
    }
    #expect(watch.ending == nil)
    #expect(watch.sent.count == 40)
    bench.timer.fire()
    #expect(watch.ending == nil)
  }

  @Test func whoFallsBehindTheLatestEventsIsCut() throws {
    let slow = try watch(room: 4)
    let other = try watch(V1.EventFilter(applicationID: "none"))
    for _ in 0..<EventWindow.maximumEvents / 500 + 2 { bench.commit(events: samples(500)) }
    expectCut(slow, after: 4)
    #expect(other.ending == nil)
  }

  @Test func whoReadsWhatIsStoredMayTakeItsTime() throws {
    bench.commit(events: samples(400))
    let watch = try watch(room: 8)
    // Long before what the window has.
    for _ in 0..<100 {
      bench.commit(events: samples(1))
      watch.take()
      bench.settle()
    }
    #expect(watch.ending == nil)
    #expect(try sequences(watch) == Array(1...500))
  }

  // MARK: Erasure

  // R41
  @Test func whatIsErasedMeanwhileIsNotToldAnyMore() throws {
    bench.commit(events: [.sample("a", profile: "alice"), .sample("a", profile: "bob")])
    let filter = V1.EventFilter(applicationID: Self.application)
    let watchers = try [watch(filter, room: 1), watch(filter)]
    bench.commit(events: [.sample("b", profile: "alice"), .sample("b", profile: "bob")])
    bench.commit(.eraseProfile(.sample("alice")))
    bench.commit(events: [.sample("c", profile: "bob")])
    for _ in 0..<9 {
      watchers[0].take()
      bench.settle()
    }
    // The first had been sent; the third had not.
    #expect(try sequences(watchers[0]) == [1, 2, 4, 5, 6])
    #expect(try sequences(watchers[1]) == [1, 2, 3, 4, 5, 6])
    #expect(try sequences(try watch(filter)) == [2, 4, 5, 6])
  }

  // MARK: Archived events

  @Test func whoResumesWhereEventsWereArchivedIsToldAndWhoBeginsAnewGetsTheRest() throws {
    bench.commit(events: samples(10))
    bench.store.dropEvents(through: 6)
    for resumed in try [watch(after: 3), watch(V1.EventFilter(applicationID: "none"), after: 5)] {
      #expect(resumed.error?.code == .outOfRange)
      #expect(resumed.error?.reason == "EVENTS_ARCHIVED")
      #expect(resumed.error?.reasonMetadata == ["first_sequence": "7"])
    }
    let watches = try [watch(after: 0), watch(after: 6), watch(after: 8)]
    bench.commit(events: samples(1))
    #expect(try watches.map(sequences) == [[7, 8, 9, 10, 12], [7, 8, 9, 10, 12], [9, 10, 12]])
    #expect(watches.allSatisfy { $0.ending == nil })
  }

  @Test func whoReadsWhatIsStoredAndIsOvertakenByTheArchiveIsTold() throws {
    bench.commit(events: samples(300))
    let watch = try watch(room: 10)
    bench.store.dropEvents(through: 200)
    for _ in 0..<3 {
      watch.take()
      bench.settle()
    }
    #expect(watch.error?.reason == "EVENTS_ARCHIVED")
    let got = try sequences(watch)
    #expect(got == Array(1...UInt64(got.count)))
  }

  @Test func theListIsRefusedWhereEventsWereArchivedSinceItWasRead() throws {
    bench.commit(events: samples(10))
    bench.store.dropEvents(through: 6)
    func list(after sequence: UInt64) throws -> V1.ListEventsResponse {
      try bench.call(
        "/touchstone.v1.AdministrationService/ListEvents",
        V1.ListEventsRequest(filter: V1.EventFilter(applicationID: Self.application), afterSequence: sequence),
        answer: V1.ListEventsResponse.self)
    }
    #expect(try list(after: 0).events.map(\.sequence) == [7, 8, 9, 10])
    #expect(try list(after: 6).events.map(\.sequence) == [7, 8, 9, 10])
    let error = #expect(throws: RPCError.self) { _ = try list(after: 5) }
    #expect(error?.code == .outOfRange)
    #expect(error?.reasonMetadata == ["first_sequence": "7"])
  }

  // MARK: A restored log

  /// Both before the feed follows the log, and after.
  @Test func whoReadBeyondTheLogsEndIsTold() throws {
    bench.commit(events: samples(10))
    let atEnd = try watch(after: 10)
    for resumed in try [watch(after: 11), watch(V1.EventFilter(applicationID: "none"), after: .max)] {
      #expect(resumed.error?.code == .outOfRange)
      #expect(resumed.error?.reason == "BEYOND_LOG_END")
      #expect(resumed.error?.reasonMetadata == ["last_sequence": "10"])
    }
    bench.commit(events: samples(1))
    #expect(try sequences(atEnd) == [11])
    let filter = V1.EventFilter(applicationID: Self.application)
    for request in [
      V1.ListEventsRequest(filter: filter, afterSequence: 12), V1.ListEventsRequest(filter: filter, pageToken: "12"),
    ] {
      let error = #expect(throws: RPCError.self) {
        _ = try bench.call(
          "/touchstone.v1.AdministrationService/ListEvents", request, answer: V1.ListEventsResponse.self)
      }
      #expect(error?.code == .outOfRange)
      #expect(error?.reasonMetadata == ["last_sequence": "11"])
    }
  }

  // MARK: Ends

  @Test func aStoreThatFailsEndsTheWatchAndItIsToldWhereToGoOn() throws {
    bench.commit(events: samples(3))
    let watch = try watch()
    bench.store.failReads(.unavailable)
    bench.commit(events: samples(3))
    #expect(watch.error?.code == .unavailable)
    #expect(watch.error?.message.hasSuffix("resume with after_sequence 3") == true)
    #expect(watch.error?.message.contains(MemoryStore.privateMessage) == false)
    #expect(try self.watch().error?.code == .unavailable)

    bench.store.recover()
    let resumed = try self.watch(after: 3)
    bench.commit(events: samples(1))
    #expect(try sequences(resumed) == [4, 5, 6, 7])
  }

  @Test func drainingEndsIt() throws {
    bench.commit(events: samples(3))
    let watch = try watch()
    bench.service.beginDraining()
    bench.settle()
    #expect(watch.error?.code == .unavailable)
    #expect(watch.error?.message.hasSuffix("resume with after_sequence 3") == true)
    #expect(try self.watch().error?.code == .unavailable)
  }

  @Test func whoLeavesIsForgottenAndNothingIsReadForNobody() throws {
    let watch = try watch()
    #expect(bench.store.eventSignal.isObserved)
    watch.cancel()
    #expect(!bench.store.eventSignal.isObserved)
    bench.commit(events: samples(3))
    #expect(watch.sent.isEmpty)
  }

  @Test func whoLeftBeforeItWasServedIsForgottenToo() throws {
    let request = V1.WatchEventsRequest(filter: V1.EventFilter(applicationID: Self.application))
    for _ in 0...EventWatches.maximumWatchesPerCaller {
      let left = try bench.begin(Self.path, request, isCancelled: true)
      #expect(left.isCancelled && left.sent.isEmpty)
    }
    #expect(!bench.store.eventSignal.isObserved)
    let watch = try watch()
    bench.commit(events: samples(3))
    #expect(try sequences(watch) == [1, 2, 3])
    watch.cancel()
    #expect(!bench.store.eventSignal.isObserved)
  }

  @Test func oneCallerMayHaveSoManyAndNoMore() throws {
    let watches = try (0..<EventWatches.maximumWatchesPerCaller).map { _ in try watch() }
    #expect(watches.allSatisfy { $0.ending == nil })
    let refused = try watch()
    #expect(refused.error?.code == .resourceExhausted)
    #expect(refused.error?.reason == "TOO_MANY_STREAMS")
    #expect(
      refused.error?.quotas == [.init(subject: "caller:local", description: "at most 64 open calls of this method")])
    watches[3].cancel()
    #expect(try watch().ending == nil)
  }

  @Test func aCallerWithFewerWatchesTakesAPlaceOfTheOneWithMost() throws {
    let keys = (0..<4).map { _ in CallerKey.make() }
    let bench = InProcessService {
      $0.callers = keys.enumerated().map { CallerDefinition("game\($0)", keys: [$1]) }
      $0.callers?.append(CallerDefinition("bank", keys: [TestKey.bank]))
    }
    func watch(_ key: String, after sequence: UInt64 = 0) throws -> InProcessCall {
      try bench.begin(Self.path, V1.WatchEventsRequest(afterSequence: sequence), key: key)
    }
    bench.commit(events: samples(2))
    var watches = try keys.map { key in try (0..<EventWatches.maximumWatchesPerCaller).map { _ in try watch(key) } }
    let bank = try watch(TestKey.bank)
    let ended = watches[3].removeLast()
    #expect(ended.error?.code == .unavailable)
    #expect(ended.error?.message.hasSuffix("; resume with after_sequence 2") == true)
    bench.commit(events: samples(1))
    for going in watches.joined() { #expect(try sequences(going) == [1, 2, 3]) }
    #expect(try sequences(bank) == [1, 2, 3])
    // The other callers have no more than the one that lost a watch, and the bank has its first.
    let refused = try watch(keys[3], after: 2)
    #expect(refused.error?.quotas.map(\.subject) == ["server"])
    watches[0][7].cancel()
    #expect(try sequences(watch(keys[3], after: 2)) == [3])
  }

  // MARK: Callers

  @Test func whoMayNotWatchAnyMoreIsSentAway() throws {
    let shop = CallerDefinition("shop", keys: [TestKey.shop], applications: .these([Self.application]))
    let bank = CallerDefinition("bank", keys: [TestKey.bank])
    let bench = InProcessService { $0.callers = [shop, bank] }
    func watch(_ key: String, _ filter: V1.EventFilter) throws -> InProcessCall {
      try bench.begin(Self.path, V1.WatchEventsRequest(filter: filter), key: key)
    }
    let filter = V1.EventFilter(applicationID: Self.application)
    #expect(try watch(TestKey.shop, V1.EventFilter()).error?.code == .permissionDenied)
    let watches = try [watch(TestKey.shop, filter), watch(TestKey.bank, filter), watch(TestKey.bank, V1.EventFilter())]
    #expect(watches.allSatisfy { $0.ending == nil })

    let narrowed = CallerDefinition("bank", keys: [TestKey.bank], applications: .these([Self.application]))
    bench.service.replaceCallers([narrowed])
    bench.settle()
    #expect(watches[0].error?.code == .unauthenticated)
    #expect(watches[1].ending == nil)
    #expect(watches[2].error?.code == .permissionDenied)
    let before = watches.map(\.sent.count)
    bench.commit(events: samples(1))
    #expect(zip(watches, before).map { $0.sent.count - $1 }.filter { $0 > 0 }.count == 1)
  }

  @Test func whoGoesByAnotherNameNowIsToCallAgain() throws {
    let bench = InProcessService { $0.callers = [CallerDefinition("shop", keys: [TestKey.shop])] }
    func watch() throws -> InProcessCall {
      try bench.begin(Self.path, V1.WatchEventsRequest(), key: TestKey.shop)
    }
    let before = try watch()
    bench.service.replaceCallers([CallerDefinition("store", keys: [TestKey.shop])])
    bench.settle()
    #expect(before.error?.code == .unavailable)
    #expect(before.error?.retryDelay != nil)
    #expect(before.error?.message.hasSuffix("; resume with after_sequence 0") == true)
    #expect(try watch().ending == nil)
  }

  // MARK: Calls

  private static let path = "/touchstone.v1.AdministrationService/WatchEvents"

  private func watch(
    _ filter: V1.EventFilter = V1.EventFilter(applicationID: application), after sequence: UInt64 = 0, room: Int = .max
  ) throws -> InProcessCall {
    try bench.begin(Self.path, V1.WatchEventsRequest(filter: filter, afterSequence: sequence), room: room)
  }

  private func list(_ filter: V1.EventFilter = V1.EventFilter(applicationID: application)) throws -> [V1.Event] {
    try bench.call(
      "/touchstone.v1.AdministrationService/ListEvents", V1.ListEventsRequest(filter: filter, pageSize: 1_000),
      answer: V1.ListEventsResponse.self
    ).events
  }

  private func samples(_ count: Int) -> [EventDraft] {
    (0..<count).map { .sample("kind.\($0 % 7)") }
  }

  private func sequences(_ watch: InProcessCall) throws -> [UInt64] {
    try watch.messages(V1.WatchEventsResponse.self).compactMap(\.event?.sequence)
  }

  private func expectCut(
    _ watch: InProcessCall, after sequence: UInt64, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(watch.error?.code == .resourceExhausted, sourceLocation: sourceLocation)
    #expect(watch.error?.reason == "WATCH_TOO_SLOW", sourceLocation: sourceLocation)
    #expect(
      watch.error?.message.hasSuffix("; resume with after_sequence \(sequence)") == true, sourceLocation: sourceLocation
    )
  }
}

/// A client that needs every event once.
private struct ResumingWatcher {
  let room: Int
  var stream: InProcessCall?
  private(set) var got: [UInt64] = []
  private var seen = 0

  init(room: Int) {
    self.room = room
  }

  var position: UInt64 { got.last ?? 0 }

  /// Takes some of the sent events, and counts only those that it took.
  mutating func take(_ count: Int) {
    guard let stream else { return }
    let end = count == .max ? stream.sent.count : min(stream.sent.count, seen + count)
    for message in stream.sent[seen..<end] {
      let event = try? V1.WatchEventsResponse.decoded(from: message).event
      got.append(event?.sequence ?? 0)
    }
    let taken = end - seen
    seen = end
    // Events that are sent because of that come with the next time.
    stream.take(taken)
    if stream.ending != nil { cut() }
  }

  mutating func cut() {
    stream?.cancel()
    stream = nil
    seen = 0
  }
}
