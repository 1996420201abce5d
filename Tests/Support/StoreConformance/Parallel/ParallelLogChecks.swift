// The audit log that many write, read and archive at once is one chain, in the order of what was answered (R41).

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let parallelLogChecks: [ParallelCheck] = [
    ParallelCheck(
      "parallel commits, refused ones among them, leave a chain that verifies, without gaps", participants: 60
    ) { store in
      try await store.commit(.putDevice(.sample("taken", failures: 0)))
    } participate: { participant in
      let device = participant.number.isMultiple(of: 3) ? "taken" : "phone-\(participant.number)"
      return try await participant.outcome { store throws(StoreError) in
        try await store.commit(
          .putDevice(.sample(device, failures: 1)),
          events: [.sample("first-\(participant.number)"), .sample("second-\(participant.number)")])
      }
    } judge: { said, store async throws in
      #expect(said.tally == ["done": 40, "conflict": 20])
      let records = try await store.events()
      #expect(records.map(\.sequence) == Array(1...80))
      let kinds = records.map { $0.event?.kind ?? "" }
      // Those of two commits may stand between one another.
      for (number, said) in said.enumerated() where said == Participant.done {
        let first = try #require(kinds.firstIndex(of: "first-\(number)"))
        let second = try #require(kinds.firstIndex(of: "second-\(number)"))
        #expect(first < second)
      }
      var verifier = EventChainVerifier()
      for record in records { try verifier.verify(record) }
      try verifier.conclude(at: await store.eventChainHead())
    },

    ParallelCheck(
      "an event stands behind all that was in the log before its commit, and in the log once that is answered",
      participants: 12
    ) { participant in
      let store = participant.store
      var ends = [try await store.eventChainHead().sequence]
      for round in 0..<rounds {
        try await store.commit(events: [.sample("event-\(participant.number)-\(round)")])
        ends.append(try await store.eventChainHead().sequence)
      }
      return ends.map { "\($0)" }.joined(separator: " ")
    } judge: { said, store async throws in
      var sequences: [String: Int] = [:]
      for record in try await store.events() { sequences[record.event?.kind ?? ""] = Int(record.sequence) }
      #expect(sequences.count == 12 * rounds)
      for (number, ends) in said.numbers.enumerated() {
        for round in 0..<rounds {
          let sequence = try #require(sequences["event-\(number)-\(round)"])
          #expect(ends[round] < sequence && sequence <= ends[round + 1])
        }
      }
    },

    ParallelCheck("who follows the log while all write to it misses nothing, and the chain verifies", participants: 40)
    { participant in
      guard participant.number >= followers else {
        let kinds = try await follow(participant.store, through: UInt64(followedEvents))
        return "followed \(kinds)"
      }
      for commit in 0..<3 {
        let events = (0...participant.number % 2).map { number in
          EventDraft.sample("event-\(participant.number)-\(commit)-\(number)")
        }
        try await participant.store.commit(events: events)
      }
      return "written"
    } judge: { said, store async throws in
      #expect(said.tally == ["followed \(followedEvents)": followers, "written": 40 - followers])
      #expect(try await store.eventChainHead().sequence == UInt64(followedEvents))
    },

    ParallelCheck("of parallel drops of the same events one wins", participants: 12) { store in
      try await store.commit(events: (0..<20).map { EventDraft.sample("event-\($0)") })
    } participate: { participant in
      let heads = try await participant.store.events().map { EventChain.Head(sequence: $0.sequence, hash: $0.hash) }
      // Another one was faster.
      guard heads.first?.sequence == 1 else { return "conflict" }
      return try await participant.outcome { store throws(StoreError) in
        try await store.drop(
          ArchivedEvents(start: .genesis, end: heads[2 + participant.number], unerasedThrough: 20))
      }
    } judge: { said, store async throws in
      said.expectOneWinner()
      let winner = try #require(said.firstIndex(of: Participant.done))
      #expect(try await store.eventChainStart().sequence == UInt64(3 + winner))
      #expect(try await store.events().first?.sequence == UInt64(4 + winner))
    },
  ]

  private static let rounds = 4
  private static let followers = 4
  /// Three commits of each writer, of one event or two in turn.
  private static let followedEvents = (40 - followers) * 3 * 3 / 2

  /// As a client does: from where the page before ended, in small pages. Answers how many kinds it has met.
  private static func follow(_ store: any Store, through end: UInt64) async throws -> Int {
    var verifier = EventChainVerifier()
    var kinds: Set<String> = []
    var reached: UInt64 = 0
    while reached < end {
      try Task.checkCancellation()
      let page = try await store.eventPage(afterSequence: reached, limit: 7)
      for event in page.events {
        try verifier.verify(event)
        kinds.insert(event.event?.kind ?? "")
      }
      reached = max(reached, page.through)
      // A store that answers at once gives the writers their turn here.
      await Task.yield()
    }
    return kinds.count
  }
}
