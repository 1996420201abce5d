// What one process did is what every other finds, at once; and their audit log is one.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let sharedLogChecks: [SharedCheck] = [
    // R32
    SharedCheck(name: "what one process revoked, no other accepts") { stores in
      let binding = BindingRecord.sample("b-1")
      try await stores[0].commit(.putBinding(binding))
      for store in stores { #expect(try await store.attemptRecords(bindingID: "b-1").binding == binding.stored) }
      try await stores[0].commit(.putBinding(binding.stored.revoked()))
      for store in stores {
        #expect(try await store.attemptRecords(bindingID: "b-1").binding?.isRevoked == true)
        let refusal = await errorCode { try await store.commit(.requireBinding(id: "b-1", version: 1)) }
        #expect(refusal == .conflict)
      }
    },

    // R28, R35
    SharedCheck(name: "of parallel uses of a ticket or a challenge one wins, in whichever process") { stores in
      let (ticket, challenge) = (ExpiringKey.sample(), ExpiringKey.sample())
      let finished = EvaluationRecord(key: challenge, standing: EvaluationStanding(isFinished: true))
      #expect(await successes(of: 40) { try await stores[$0 % stores.count].commit(.useTicket(ticket)) } == 1)
      #expect(await successes(of: 40) { try await stores[$0 % stores.count].commit(.putEvaluation(finished)) } == 1)
    },

    // R41. The events' own times go back, as clocks do.
    SharedCheck(name: "events stand in the order in which their commits were answered") { stores in
      let count = 30
      for number in 0..<count {
        var event = EventDraft.sample("event-\(number)")
        event.time = Sample.now + .seconds(-number)
        try await stores[number % stores.count].commit(events: [event])
      }
      for store in stores {
        let events = try await store.events()
        #expect(events.map { $0.event?.kind } == (0..<count).map { "event-\($0)" })
        #expect(events.map(\.sequence) == (1...UInt64(count)).map { $0 })
      }
    },

    // R41
    SharedCheck(name: "who follows the log while all write to it misses nothing, and the chain verifies") { stores in
      let commits = 120
      let total = commits * 3 / 2
      let followers = stores.map { store in Task { try await follow(store, through: UInt64(total)) } }
      let written = await successes(of: commits) { number in
        let events = (0...number % 2).map { EventDraft.sample("event-\(number)-\($0)") }
        try await stores[number % stores.count].commit(events: events)
      }
      #expect(written == commits)
      for follower in followers {
        let events = try await follower.value
        var verifier = EventChainVerifier()
        for event in events { try verifier.verify(event) }
        #expect(verifier.verifiedCount == UInt64(total))
        #expect(Set(events.compactMap(\.event?.kind)).count == total)
      }
      for store in stores { #expect(try await store.eventChainHead().sequence == UInt64(total)) }
    },

    SharedCheck(name: "the signal rings for what another process appended, too") { stores in
      let listener = stores[stores.count - 1]
      let (rings, continuation) = AsyncStream<Void>.makeStream()
      let observation = listener.eventSignal.observe { continuation.yield() }
      var ringing = rings.makeAsyncIterator()
      for count in 1...3 {
        try await stores[0].commit(events: [.sample()])
        repeat { _ = await ringing.next() } while try await listener.events().count < count
      }
      listener.eventSignal.remove(observation)
    },
  ]

  /// As a client does: from where the page before ended, in small pages.
  private static func follow(_ store: any Store, through end: UInt64) async throws -> [EventRecord] {
    var events: [EventRecord] = []
    var reached: UInt64 = 0
    while reached < end {
      let page = try await store.eventPage(afterSequence: reached, limit: 7)
      events += page.events
      reached = max(reached, page.through)
    }
    return events
  }
}
