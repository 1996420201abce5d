// Erasing and sweeping while others write: what goes is accounted for, and nothing that went comes back.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let parallelRemovalChecks: [ParallelCheck] = [
    // R41
    ParallelCheck(
      "where a profile is written and erased at once, no version comes twice, and every event is accounted for",
      participants: writers + erasers
    ) { participant in
      try await participant.number % 5 == 0 ? erase(participant) : write(participant)
    } judge: { said, store async throws in
      let versions = said.numbers.joined().filter { $0 > 0 }
      #expect(Set(versions).count == versions.count)
      let firsts = said.numbers.joined().filter { $0 == 0 }.count
      #expect(firsts >= 1 && firsts <= erasers * erasuresEach + 1)
      #expect(versions.count + firsts == writers * writesEach)

      let before = try await store.events()
      let kept = before.filter { $0.event?.kind == "written" }.count
      #expect(
        try EventChain.erasedCount(of: before, through: await store.eventChainHead()) + kept == writers * writesEach)
      try await store.commit(.eraseProfile(.alice))
      let after = try await store.events()
      #expect(try EventChain.erasedCount(of: after, through: await store.eventChainHead()) == writers * writesEach)
      // One that found many events has more than one account.
      #expect(after.filter { $0.event?.kind == ProfileErasure.eventKind }.count >= erasers * erasuresEach + 1)
      #expect(try await store.profile().version == 0)
    },

    // R28, R41
    ParallelCheck(
      "where new profiles are made and erased at once, none is there afterwards", participants: 2 * newcomers
    ) {
      participant in
      let id = "newcomer-\(participant.number / 2)"
      guard participant.number % 2 == 0 else {
        try await participant.untilNoConflict { store in try await store.commit(.eraseProfile(.sample(id))) }
        return "erased"
      }
      let mark = ProfileRecord.erasureMarkID(forProfile: id)
      let error = await errorCode {
        try await participant.store.commit(
          .requireProfile(applicationID: Sample.application, profileID: mark, version: 0), .putProfile(.sample(id)),
          .putBinding(.sample("binding of \(id)", profile: id)), events: [.sample("made", profile: id)])
      }
      return error == nil ? "made" : "late"
    } judge: { _, store async throws in
      for number in 0..<newcomers {
        #expect(try await store.profile("newcomer-\(number)").version == 0)
        #expect(try await store.bindings(profileID: "newcomer-\(number)") == [])
      }
      #expect(try await store.events().allSatisfy { $0.event?.kind != "made" })
    },

    // R41: a first record that rests on no mark, as of settings and secrets.
    ParallelCheck(
      "where profiles get their first records and are erased at once, a record has its event",
      participants: 2 * newcomers
    ) { participant in
      let id = "first-\(participant.number / 2)"
      for _ in 0..<writesEach {
        try await participant.untilNoConflict { store in
          if participant.number % 2 == 0 {
            try await store.commit(.eraseProfile(.sample(id)))
          } else {
            try await store.commit(.putProfile(try await store.profile(id)), events: [.sample(profile: id)])
          }
        }
      }
      return "done"
    } judge: { _, store async throws in
      for number in 0..<newcomers {
        let id = "first-\(number)"
        let events = try await store.events(matching: EventFilter(applicationID: Sample.application, profileID: id))
        #expect(try await events.isEmpty == (store.profile(id).version == 0))
      }
    },

    // R41: a binding comes with a write of its profile, and goes with it, as does its event.
    ParallelCheck(
      "where known profiles get bindings and are erased at once, all that came before goes", participants: 2 * newcomers
    ) { store in
      for number in 0..<newcomers { try await store.commit(.putProfile(.sample("known-\(number)"))) }
    } participate: { participant in
      let id = "known-\(participant.number / 2)"
      guard participant.number % 2 == 0 else {
        try await participant.untilNoConflict { store in try await store.commit(.eraseProfile(.sample(id))) }
        return "erased"
      }
      for step in 0..<writesEach {
        try await participant.untilNoConflict { store in
          let profile = try await store.profile(id)
          let binding = BindingRecord.sample("binding \(step) of \(id)", profile: id)
          try await store.commit(.putProfile(profile), .putBinding(binding), events: [.sample(profile: id)])
        }
      }
      return "bound"
    } judge: { _, store async throws in
      for number in 0..<newcomers {
        let id = "known-\(number)"
        let events = try await store.events(
          matching: EventFilter(applicationID: Sample.application, profileID: id), limit: writesEach)
        #expect(try await store.bindings(profileID: id).count == events.count)
        #expect(try await events.isEmpty == (store.profile(id).version == 0))
      }
    },

    // R28
    ParallelCheck("where tickets are used and swept at once, none serves twice, and none is lost", participants: 24) {
      participant in
      try await participant.number % 4 == 0 ? sweep(participant.store) : useTickets(participant)
    } judge: { said, store async throws in
      let swept = said.filter { $0.hasPrefix("swept") }.numbers.joined().reduce(0, +)
      let won = said.filter { !$0.hasPrefix("swept") }.numbers.joined()
      #expect(Set(won).count == won.count)
      #expect(won.filter { $0 >= expiring }.count == tickets - expiring)
      let rest = try await store.sweep(before: Sample.now)
      #expect(swept + rest.removedRows == won.count { $0 < expiring })
      for number in 0..<tickets { #expect(try await store.enrolmentRecords(ticket: ticket(number)).isTicketUsed) }
    },
  ]

  // MARK: Erasing

  private static let newcomers = 10
  private static let writers = 16
  private static let erasers = 4
  private static let writesEach = 5
  private static let erasuresEach = 2

  private static func erase(_ participant: Participant) async throws -> String {
    for _ in 0..<erasuresEach {
      try await participant.untilNoConflict { store in try await store.commit(.eraseProfile(.alice)) }
    }
    return "erased"
  }

  /// Answers the versions that it wrote over; 0 where the profile was not there.
  private static func write(_ participant: Participant) async throws -> String {
    var versions: [String] = []
    for _ in 0..<writesEach {
      let version = try await participant.untilNoConflict { store in
        let profile = try await store.profile()
        try await store.commit(.putProfile(profile), events: [.sample("written")])
        return profile.version
      }
      versions.append("\(version)")
    }
    return versions.joined(separator: " ")
  }

  // MARK: Sweeping

  private static let tickets = 40
  /// The number of those that expire.
  private static let expiring = 30

  private static func ticket(_ number: Int) -> ExpiringKey {
    .numbered(number, expiresAt: Sample.now + .seconds(number < expiring ? -1 : 1))
  }

  /// Answers which ones it won.
  private static func useTickets(_ participant: Participant) async throws -> String {
    var won: [String] = []
    for step in 0..<tickets {
      let number = (participant.number * 7 + step) % tickets
      let outcome = try await participant.outcome { store throws(StoreError) in
        try await store.commit(.useTicket(ticket(number)))
      }
      if outcome == Participant.done { won.append("\(number)") }
    }
    return won.joined(separator: " ")
  }

  private static func sweep(_ store: any Store) async throws -> String {
    var removed = 0
    for _ in 0..<5 { removed += try await store.sweep(before: Sample.now).removedRows }
    return "swept \(removed)"
  }
}

extension EventChain {
  /// Counts the erased events of a whole log, whose every erased event has its account.
  fileprivate static func erasedCount(of records: [EventRecord], through head: EventChain.Head) throws -> Int {
    var verifier = EventChainVerifier()
    for record in records { try verifier.verify(record) }
    try verifier.conclude(at: head)
    try verifier.requireAccounts()
    return Int(verifier.erasedCount)
  }
}
