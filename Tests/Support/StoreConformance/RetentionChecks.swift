// Archived events leave the log: at its beginning alone, and only as they were archived.

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let retentionChecks: [Check] = [
    Check(name: "archived events are gone at once, and the rest still verifies") { store in
      try await store.commit(events: (0..<10).map { EventDraft.sample("event-\($0)", profile: "\($0 % 2)") })
      let fourth = try await store.events()[3]
      #expect(try await store.eventChainStart() == .genesis)
      try await store.dropEvents(through: 4)
      let start = try await store.eventChainStart()
      #expect(start == EventChain.Head(sequence: 4, hash: fourth.hash))
      try await store.commit(events: [.sample("later")])

      let rest = try await store.events()
      #expect(rest.map(\.sequence) == Array(5...12))
      var verifier = EventChainVerifier(continuing: start)
      for event in rest { try verifier.verify(event) }
      try verifier.conclude(at: await store.eventChainHead())
      try verifier.requireStart()
      let even = EventFilter(applicationID: Sample.application, profileID: "0")
      #expect(try await store.events(matching: even).map(\.sequence) == [5, 7, 9])
    },

    Check(name: "a page says which events before it were archived") { store in
      try await store.commit(events: (0..<6).map { EventDraft.sample("event-\($0)") })
      #expect(try await store.eventPage().start == 0)
      try await store.dropEvents(through: 3)
      for after in [0, 2, 3, 5, 9] as [UInt64] {
        let page = try await store.eventPage(afterSequence: after)
        #expect(page.start == 3)
        #expect(page.events.map(\.sequence) == [4, 5, 6, 7].filter { $0 > after })
      }
      #expect(try await store.eventPage(matching: EventFilter(applicationID: "none")).start == 3)
    },

    Check(name: "a sweep removes the rows of archived events, in steps, and no others") { store in
      let count = 2_500
      for _ in 0..<count / 100 { try await store.commit(events: (0..<100).map { _ in EventDraft.sample() }) }
      let end = try #require(try await store.events(afterSequence: 2_199, limit: 1).first)
      try await store.drop(
        ArchivedEvents(
          start: .genesis, end: EventChain.Head(sequence: 2_200, hash: end.hash), unerasedThrough: UInt64(count)))
      var removed = 0
      var steps = 0
      var hasMore = true
      while hasMore {
        let step = try await store.sweep(before: Sample.now)
        removed += step.removedRows
        hasMore = step.hasMore
        steps += 1
      }
      #expect(removed == 2_200)
      #expect(steps > 1)
      #expect(try await store.events().map(\.sequence) == Array(2_201...2_501))
    },

    Check(name: "only what the log holds as it was archived is dropped, and never its last two events") { store in
      try await store.commit(events: (0..<6).map { EventDraft.sample("event-\($0)") })
      let heads = try await store.events().map { EventChain.Head(sequence: $0.sequence, hash: $0.hash) }
      let refused = [
        ArchivedEvents(start: .genesis, end: heads[4], unerasedThrough: 6),
        ArchivedEvents(start: .genesis, end: heads[5], unerasedThrough: 6),
        ArchivedEvents(start: heads[0], end: heads[2], unerasedThrough: 6),
        ArchivedEvents(start: .genesis, end: .genesis, unerasedThrough: 6),
        ArchivedEvents(
          start: .genesis, end: EventChain.Head(sequence: 2, hash: heads[2].hash), unerasedThrough: 6),
        ArchivedEvents(start: .genesis, end: EventChain.Head(sequence: 9, hash: heads[2].hash), unerasedThrough: 6),
      ]
      for archived in refused { #expect(await errorCode { try await store.drop(archived) } == .conflict) }
      #expect(try await store.events().count == 6)
      let right = ArchivedEvents(start: .genesis, end: heads[3], unerasedThrough: 6)
      try await store.drop(right)
      #expect(await errorCode { try await store.drop(right) } == .conflict)
      #expect(try await store.events().map(\.sequence) == [5, 6, 7])
    },

    Check(name: "a drop says in the chain where the log begins, so that nobody else can let it begin later") { store in
      try await store.commit(events: (0..<8).map { EventDraft.sample("event-\($0)") })
      for end in [3, 9] as [UInt64] {
        try await store.dropEvents(through: end)
        let start = try await store.eventChainStart()
        let events = try await store.events()
        #expect(events.last?.event.map { ArchivedEvents.isAccount(of: start, $0) } == true)
        #expect(fault(inLogAfter: start, events) == nil)
        // So many stay behind the latest one.
        try await store.commit(events: (0..<2).map { _ in .sample("later") })
      }
      // The log as a further drop would leave it, but without its account.
      let events = try await store.events()
      let later = EventChain.Head(sequence: events[0].sequence, hash: events[0].hash)
      #expect(fault(inLogAfter: later, Array(events[1...])) == .dropped(through: later.sequence))
    },

    Check(name: "what was archived before an erasure is not dropped after it") { store in
      try await store.commit(events: (0..<4).map { EventDraft.sample(profile: $0 == 1 ? "alice" : "bob") })
      let end = try await store.events()[1]
      let archived = ArchivedEvents(
        start: .genesis, end: EventChain.Head(sequence: 2, hash: end.hash), unerasedThrough: 4)
      try await store.commit(.eraseProfile(.alice))
      #expect(await errorCode { try await store.drop(archived) } == .conflict)
      try await store.dropEvents(through: 2)
    },

    Check(name: "what was archived before an erasure of later events is dropped after it") { store in
      try await store.commit(events: (0..<4).map { EventDraft.sample(profile: $0 == 2 ? "alice" : "bob") })
      let end = try await store.events()[1]
      let archived = ArchivedEvents(
        start: .genesis, end: EventChain.Head(sequence: 2, hash: end.hash), unerasedThrough: 4)
      for profile in ["alice", "nobody"] { try await store.commit(.eraseProfile(.sample(profile))) }
      try await store.drop(archived)
      #expect(try await store.events().prefix(2).map(\.isErased) == [true, false])
    },

    Check(name: "an erasure leaves archived events alone, swept or not") { store in
      try await store.commit(events: (0..<6).map { EventDraft.sample(profile: $0 < 4 ? "alice" : "bob") })
      try await store.dropEvents(through: 2)
      let start = try await store.eventChainStart()
      try await store.commit(.eraseProfile(.alice))
      let events = try await store.events()
      #expect(events.filter(\.isErased).map(\.sequence) == [3, 4])
      var verifier = EventChainVerifier(continuing: start)
      for event in events { try verifier.verify(event) }
      try verifier.requireAccounts()
      #expect(verifier.earlierAccounts == [])
      while try await store.sweep(before: Sample.now).hasMore {}
      try await store.commit(.eraseProfile(.sample("bob")))
      #expect(try await store.events().filter(\.isErased).map(\.sequence) == [3, 4, 5, 6])
    },
  ]

  static let sharedRetentionChecks: [SharedCheck] = [
    SharedCheck(name: "who claimed archiving may go on, and let others") { stores async throws in
      let claimant = UniqueID.random()
      #expect(try await stores[0].claimArchiving(by: claimant, for: .seconds(600)))
      for store in stores { #expect(try await store.claimArchiving(by: claimant, for: .seconds(600))) }
      #expect(try await stores[0].claimArchiving(by: claimant, for: .zero))
      for store in stores { #expect(try await store.claimArchiving(by: .random(), for: .zero)) }
    }
  ]
}

private func fault(inLogAfter start: EventChain.Head, _ events: [EventRecord]) -> EventChainVerifier.Fault? {
  var verifier = EventChainVerifier(continuing: start)
  do throws(EventChainVerifier.Fault) {
    for event in events { try verifier.verify(event) }
    try verifier.requireStart()
    return nil
  } catch {
    return error
  }
}
