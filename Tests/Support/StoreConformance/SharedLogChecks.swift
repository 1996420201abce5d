// Every process finds the commits of every other at once; and their audit log is one.

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
}
