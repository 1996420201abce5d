import DispatchRPC
import StoreConformance
import Testing
import TouchstoneCodec
import TouchstoneStore

@testable import TouchstoneService

/// A crowd of watches that search a long log for what never occurs, and other callers beside it (R41).
struct EventReadsTests {
  private static let service = "/touchstone.v1.AdministrationService"
  private static let crowdFilter = V1.EventFilter(applicationID: Sample.application, kinds: ["log.broken"])
  private static let lastFilter = V1.EventFilter(applicationID: Sample.application, kinds: ["store.restored"])
  private static let permits = StorePermits.Kind.eventReads.permits
  /// The log's length, in reads.
  private static let pages = 10

  private let bench = InProcessService {
    $0.callers = [CallerDefinition("shop", keys: [TestKey.shop]), CallerDefinition("bank", keys: [TestKey.bank])]
  }
  private let crowd: [InProcessCall]

  init() throws {
    for _ in 0..<Self.pages {
      bench.commit(events: (0..<EventPage.maximumRows).map { _ in .sample("binding.created") })
    }
    bench.commit(events: [.sample("store.restored")])
    bench.store.hold(.eventReads)
    let bench = bench
    crowd = try (0..<EventWatches.maximumWatchesPerCaller).map { _ in
      try Self.watch(Self.crowdFilter, by: TestKey.shop, on: bench)
    }
  }

  private static func watch(_ filter: V1.EventFilter, by key: String, on bench: InProcessService) throws
    -> InProcessCall
  {
    try bench.begin("\(service)/WatchEvents", V1.WatchEventsRequest(filter: filter), key: key)
  }

  @Test func fewReadsAreMadeAtOneTime() {
    // And one for the log's end, which all share.
    #expect(bench.store.heldCount(.eventReads) == Self.permits + 1)
    var maximum = 0
    bench.go(.eventReads) {
      maximum = max(maximum, bench.store.heldCount(.eventReads))
      return false
    }
    #expect(maximum == Self.permits + 1)
  }

  @Test func aCrowdOfWatchesKeepsNoWatchOfAnotherCallerWaiting() throws {
    let other = try Self.watch(Self.lastFilter, by: TestKey.bank, on: bench)
    // For each of its own, one of the crowd's on each of the permits, and then some that were on their way.
    #expect(bench.go(.eventReads) { !other.sent.isEmpty } <= 2 * Self.permits * (Self.pages + 1) + 1)
    #expect(try other.messages(V1.WatchEventsResponse.self).map(\.event?.kind) == ["store.restored"])
  }

  @Test func aCrowdOfWatchesKeepsNoListWaiting() throws {
    let list = try bench.begin(
      "\(Self.service)/ListEvents", V1.ListEventsRequest(filter: Self.lastFilter),
      key: TestKey.bank)
    #expect(bench.go(.eventReads) { !list.sent.isEmpty } <= (Self.permits + 1) * EventList.maximumReads + 1)
  }

  /// The service does not query the store for a cancelled watch, and the permits are free for others.
  @Test func watchesThatAreCancelledReadNoMore() throws {
    for watch in crowd { watch.cancel() }
    bench.settle()
    #expect(bench.go(.eventReads) == Self.permits + 1)
    let other = try Self.watch(Self.lastFilter, by: TestKey.shop, on: bench)
    bench.go(.eventReads) { !other.sent.isEmpty }
    #expect(other.sent.count == 1)
  }

  /// Watches that come and go leave reads that wait, until their turn: so many and no more.
  @Test func whoComesAndGoesIsRefusedInTheEndAndNobodyElse() throws {
    for watch in crowd { watch.cancel() }
    var last = crowd[0]
    for _ in 0..<StorePermits.maximumWaiting {
      last = try Self.watch(Self.crowdFilter, by: TestKey.shop, on: bench)
      last.cancel()
    }
    let refused = try Self.watch(Self.crowdFilter, by: TestKey.shop, on: bench)
    #expect(refused.error?.code == .resourceExhausted)
    #expect(refused.error?.quotas.map(\.subject) == ["caller:shop"])
    let other = try Self.watch(Self.lastFilter, by: TestKey.bank, on: bench)
    bench.go(.eventReads) { !other.sent.isEmpty }
    #expect(other.sent.count == 1)
  }
}
