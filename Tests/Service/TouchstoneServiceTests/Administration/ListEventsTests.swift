import DispatchRPC
import StoreConformance
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// ListEvents: pages of a log that may be long, a little at a time, in turns of callers (R41).
struct ListEventsTests {
  private static let application = Sample.application
  private static let path = "/touchstone.v1.AdministrationService/ListEvents"
  private static let permits = StorePermits.Kind.eventReads.permits
  private static let rowsPerList = EventList.maximumReads * EventPage.maximumRows
  private static let never = V1.EventFilter(applicationID: application, kinds: ["log.broken"])

  private let bench = InProcessService {
    $0.callers = [CallerDefinition("shop", keys: [TestKey.shop]), CallerDefinition("bank", keys: [TestKey.bank])]
  }

  private func begin(_ request: V1.ListEventsRequest, by key: String = TestKey.shop) throws -> InProcessCall {
    try bench.begin(Self.path, request, key: key)
  }

  private func page(_ call: InProcessCall) throws -> V1.ListEventsResponse {
    if let error = call.error { throw error }
    return try #require(try call.messages(V1.ListEventsResponse.self).first)
  }

  private func list(
    _ filter: V1.EventFilter = V1.EventFilter(applicationID: application), after sequence: UInt64 = 0,
    size: UInt32 = 1_000, token: String = ""
  ) throws -> V1.ListEventsResponse {
    try page(begin(V1.ListEventsRequest(filter: filter, afterSequence: sequence, pageSize: size, pageToken: token)))
  }

  private func commit(_ count: Int, _ kind: String = "binding.created") {
    bench.commit(events: (0..<count).map { _ in .sample(kind) })
  }

  // MARK: Pages

  @Test func onePageFollowsAnother() throws {
    commit(10)
    let first = try list(size: 4)
    let second = try list(size: 4, token: first.nextPageToken)
    let third = try list(size: 4, token: second.nextPageToken)
    #expect([first, second, third].map { $0.events.map(\.sequence) } == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]])
    #expect(third.nextPageToken.isEmpty)
  }

  @Test func aFullPageAtTheEndOfTheLogIsTheLast() throws {
    commit(4)
    #expect(try list(size: 4).nextPageToken.isEmpty)
    #expect(try list(size: 3).nextPageToken.isEmpty == false)
  }

  @Test func thereMayBeMoreAlthoughAPageIsEmpty() throws {
    commit(Self.rowsPerList + 1)
    commit(1, "log.broken")
    let first = try list(Self.never)
    #expect(first.events.isEmpty)
    #expect(!first.nextPageToken.isEmpty)
    let second = try list(Self.never, token: first.nextPageToken)
    #expect(second.events.map(\.kind) == ["log.broken"])
    #expect(second.nextPageToken.isEmpty)
  }

  /// A list that waits for its turn holds few events.
  @Test func whatWasFoundIsAnsweredBeforeItIsMuch() throws {
    for _ in 0..<EventPage.maximumRows / 4 {
      commit(1, "binding.created")
      commit(7, "secret.set")
    }
    let some = V1.EventFilter(applicationID: Self.application, kinds: ["binding.created"])
    let first = try list(some)
    #expect(first.events.count == EventPage.maximumRows / 8)
    #expect(first.nextPageToken == "\(EventPage.maximumRows)")
    #expect(try list(some, token: first.nextPageToken).events.count == EventPage.maximumRows / 8)
  }

  @Test func theFilterMayChangeFromOnePageToTheNext() throws {
    commit(5, "secret.set")
    commit(5, "token.refused")
    let first = try list(V1.EventFilter(applicationID: Self.application, kinds: ["secret.set"]), size: 2)
    let second = try list(V1.EventFilter(kinds: ["token.refused"]), size: 2, token: first.nextPageToken)
    #expect(second.events.map(\.sequence) == [6, 7])
    // A sequence number beside a token is ignored.
    #expect(try list(after: 9, token: first.nextPageToken).events.map(\.sequence) == Array(3...10))
  }

  @Test(arguments: ["x", "-1", "1.5", " 1", "99999999999999999999"])
  func whatIsNoPageTokenIsRefused(_ token: String) throws {
    let error = #expect(throws: RPCError.self) { try list(token: token) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.fields == ["page_token"])
  }

  // MARK: Times and kinds

  private func list(since: Int? = nil, until: Int? = nil, token: String = "") throws -> V1.ListEventsResponse {
    func time(_ seconds: Int?) -> V1.Timestamp? { seconds.map { V1.Timestamp(Sample.now + .seconds($0)) } }
    return try page(
      begin(
        V1.ListEventsRequest(
          filter: V1.EventFilter(applicationID: Self.application), pageSize: 1_000, pageToken: token,
          since: time(since), until: time(until))))
  }

  private func commitOneEachSecond(_ count: Int) {
    bench.commit(events: (0..<count).map { .sample(at: Sample.now + .seconds($0)) })
  }

  @Test func aTimeIsSearchedInOnePageHoweverLongTheLogIs() throws {
    commitOneEachSecond(2 * Self.rowsPerList)
    let page = try list(since: 15_000, until: 15_500)
    #expect(page.events.map(\.sequence) == Array(15_001...15_500))
    #expect(page.nextPageToken.isEmpty)
    #expect(try list(since: 2 * Self.rowsPerList - 3).events.count == 3)
    #expect(try list(until: 3).events.map(\.sequence) == [1, 2, 3])
    for (since, until) in [(-100, -50), (1 << 20, 1 << 21), (5_000_000, nil)] as [(Int, Int?)] {
      let none = try list(since: since, until: until)
      #expect(none.events.isEmpty && none.nextPageToken.isEmpty)
    }
  }

  /// Replicas' clocks differ, and a commit takes a while.
  @Test func eventsThatAreNotQuiteInTheOrderOfTheirTimesAreFound() throws {
    let tolerance = Int(EventDraft.timeTolerance.components.seconds)
    bench.commit(
      events: (0..<4_000).map {
        .sample(at: Sample.now + .seconds($0 + ($0.isMultiple(of: 3) ? -tolerance / 2 : tolerance / 2)))
      }
    )
    for since in stride(from: 100, to: 3_900, by: 97) {
      let times = Sample.now + .seconds(since)..<Sample.now + .seconds(since + 50)
      let wanted = bench.events.filter { times.contains($0.time) }
      #expect(try list(since: since, until: since + 50).events.count == wanted.count, "\(since)")
    }
  }

  @Test func aSearchByTimeSaysWhetherItMissesArchivedEvents() throws {
    commitOneEachSecond(1_000)
    bench.store.dropEvents(through: 500)
    #expect(try list(since: 900).archivedThrough == 0)
    let page = try list(since: 400, until: 503)
    #expect(page.archivedThrough == 500)
    #expect(page.events.map(\.sequence) == [501, 502, 503])
    #expect(try list(until: 100).events.isEmpty)
  }

  @Test func anEndBeforeTheBeginningIsRefused() throws {
    for until in [5, 4] {
      let error = #expect(throws: RPCError.self) { try list(since: 5, until: until) }
      #expect(error?.code == .invalidArgument && error?.fields == ["until"])
    }
  }

  @Test(arguments: [
    ("evaluation.suceeded", "did you mean \"evaluation.succeeded\"?"), ("bindings.", "did you mean \"binding.\"?"),
    ("login", "no kind of event"),
  ])
  func anUnknownKindIsRefusedWithTheNearestOne(_ kind: String, _ words: String) throws {
    let error = #expect(throws: RPCError.self) { try list(V1.EventFilter(kinds: [kind])) }
    #expect(error?.fields == ["filter.kinds[0]"])
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
  }

  @Test func eachKindAndEachBeginningOfOneIsKnown() throws {
    for kind in EventKinds.all + EventKinds.groups + ["eval", "binding.re"] {
      #expect(try list(V1.EventFilter(kinds: [kind])).events.isEmpty)
    }
  }

  /// No list continues behind a gap.
  @Test func eventsOfTheNextPageThatWereArchivedAreMissed() throws {
    commit(10)
    let first = try list(size: 4)
    bench.store.dropEvents(through: 6)
    let error = #expect(throws: RPCError.self) { try list(token: first.nextPageToken) }
    #expect(error?.code == .outOfRange)
    #expect(error?.reasonMetadata == ["first_sequence": "7"])
  }

  // MARK: Turns

  /// A crowd that searches for what never occurs.
  private func crowd(_ count: Int) throws -> [InProcessCall] {
    try (0..<count).map { _ in try begin(V1.ListEventsRequest(filter: Self.never)) }
  }

  @Test func fewReadsAreMadeAtOneTime() throws {
    commit(2 * EventPage.maximumRows)
    bench.store.hold(.eventReads)
    let calls = try crowd(50)
    var reads = 0
    while bench.store.heldCount(.eventReads) > 0 {
      #expect(bench.store.heldCount(.eventReads) <= Self.permits)
      #expect(bench.store.go(.eventReads))
      bench.settle()
      reads += 1
    }
    #expect(reads == 100)
    #expect(calls.allSatisfy { $0.sent.count == 1 })
  }

  @Test func aCrowdDoesNotKeepAnotherCallerWaiting() throws {
    commit(Self.rowsPerList)
    bench.store.hold(.eventReads)
    _ = try crowd(100)
    let other = try begin(V1.ListEventsRequest(filter: Self.never), by: TestKey.bank)
    let reads = bench.go(.eventReads) { !other.sent.isEmpty }
    #expect(!other.sent.isEmpty)
    // For each of its own, one of the crowd's on each of the permits, and then some that were on their way.
    #expect(reads <= 2 * Self.permits * EventList.maximumReads)
  }

  @Test func aCallWhoseCallerIsGoneReadsNoMore() throws {
    commit(Self.rowsPerList)
    bench.store.hold(.eventReads)
    let calls = try crowd(3)
    #expect(bench.store.go(.eventReads))
    bench.settle()
    for call in calls { call.cancel() }
    // Those that were on their way.
    #expect(bench.go(.eventReads) == Self.permits)
    #expect(calls.allSatisfy { $0.sent.isEmpty })
  }

  @Test func tooManyOfOneCallerLeaveRoomForOthers() throws {
    commit(1)
    bench.store.hold(.eventReads)
    let calls = try crowd(StorePermits.maximumWaiting)
    let refused = calls.compactMap(\.error)
    // Those that are read, and those that wait.
    let accepted = Self.permits + StorePermits.maximumWaiting * 2 / 3 + 1
    #expect(refused.count == StorePermits.maximumWaiting - accepted)
    #expect(refused.allSatisfy { $0.code == .resourceExhausted })
    #expect(refused.allSatisfy { $0.quotas.map(\.subject) == ["caller:shop"] })
    let other = try begin(V1.ListEventsRequest(filter: Self.never), by: TestKey.bank)
    #expect(other.error == nil)
    bench.go(.eventReads)
    #expect(calls.count { $0.sent.count == 1 } == calls.count - refused.count)
    // All is free again.
    #expect(try crowd(10).allSatisfy { $0.error == nil })
  }

  /// Other callers came meanwhile, and its own one waits for more than its share.
  @Test func aListThatFindsNoTurnAnswersWhatItHas() throws {
    commit(2 * EventPage.maximumRows)
    bench.store.hold(.eventReads)
    let calls = try crowd(StorePermits.maximumWaiting)
    for _ in 0..<60 { _ = try begin(V1.ListEventsRequest(filter: Self.never), by: TestKey.bank) }
    #expect(bench.store.go(.eventReads))
    bench.settle()
    let answered = try page(calls[0])
    #expect(answered.events.isEmpty)
    #expect(answered.nextPageToken == "\(EventPage.maximumRows)")
  }
}
