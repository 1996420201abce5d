// Bindings that many make, replace, use and revoke at once: what must be unique is, and a revocation holds for all.

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let parallelBindingChecks: [ParallelCheck] = [
    // R29
    ParallelCheck("of parallel bindings of a device one is made", participants: 20) { participant in
      let number = participant.number
      return try await participant.outcome { store throws(StoreError) in
        try await store.commit(
          .putBinding(.sample("b-\(number)", profile: "profile-\(number)", device: "phone-1")))
      }
    } judge: { said, store async throws in
      said.expectOneWinner()
      let winner = said.firstIndex(of: Participant.done)
      #expect(try await store.activeBinding(deviceID: "phone-1")?.bindingID == winner.map { "b-\($0)" })
    },

    // R29
    ParallelCheck(
      "where all replace a device's binding, each replaces another, and the last one stays", participants: 16
    ) { participant in
      let binding = BindingRecord.sample("b-\(participant.number)", device: "phone-1")
      return try await participant.untilNoConflict { store in
        guard let old = try await store.activeBinding(deviceID: "phone-1") else {
          try await store.commit(.putBinding(binding))
          return "nobody"
        }
        try await store.commit(.putBinding(old.revoked()), .putBinding(binding))
        return old.bindingID
      }
    } judge: { said, store async throws in
      let active = try #require(try await store.activeBinding(deviceID: "phone-1"))
      let others = try await store.bindings(includingRevoked: true).filter { $0.bindingID != active.bindingID }
      #expect(others.allSatisfy { $0.isRevoked && $0.version == 2 })
      #expect(Set(said) == Set(others.map(\.bindingID) + ["nobody"]))
      #expect(said.count == others.count + 1)
    },

    // R30
    ParallelCheck("of parallel bindings of a ProfileTouchID one is made", participants: 20) { participant in
      let credential = CredentialRecord.profileTouchID(digest: [UInt8](repeating: 9, count: 32))
      let number = participant.number
      return try await participant.outcome { store throws(StoreError) in
        try await store.commit(
          .putBinding(.sample("b-\(number)", profile: "profile-\(number)", credential: credential)))
      }
    } judge: { said, store async throws in
      said.expectOneWinner()
      let subject = AttemptSubject.profileTouchID(
        applicationID: Sample.application, digest: [UInt8](repeating: 9, count: 32))
      let winner = said.firstIndex(of: Participant.done)
      #expect(try await store.attemptRecords(for: subject).binding?.bindingID == winner.map { "b-\($0)" })
    },

    // R29: as completing a binding does it, which rests on the profile's version.
    ParallelCheck("of a profile's parallel bindings as many are made as it may have", participants: 24) { participant in
      let device = "phone-\(participant.number)"
      return try await participant.untilNoConflict { store in
        let records = try await store.enrolmentRecords(deviceID: device, ticket: .numbered(participant.number))
        guard records.activeBindingCount < 16 else { return "full" }
        try await store.commit(
          .useTicket(.numbered(participant.number)), .putProfile(records.profile),
          .putBinding(.sample("b-\(participant.number)", device: device)))
        return "bound"
      }
    } judge: { said, store async throws in
      #expect(said.tally == ["bound": 16, "full": 8])
      #expect(try await store.bindings().count == 16)
      for (number, outcome) in said.enumerated() {
        let records = try await store.enrolmentRecords(
          deviceID: "phone-\(number)", ticket: .numbered(number))
        #expect(records.isTicketUsed == (outcome == "bound"))
        #expect(records.deviceBinding?.bindingID == (outcome == "bound" ? "b-\(number)" : nil))
      }
    },

    // R32
    ParallelCheck("once a binding is revoked nobody uses it, however many do until then", participants: 21) { store in
      try await store.commit(.putBinding(.sample("b-1")))
    } participate: { participant in
      guard participant.number == 0 else { return try await useUntilRevoked(participant) }
      let binding = BindingRecord.sample("b-1").stored.revoked()
      // In the middle of it.
      while try await participant.store.events(limit: 20).count < 20 {
        try await Task.sleep(for: .milliseconds(1))
      }
      try await participant.store.commit(.putBinding(binding), events: [.sample("revoked")])
      return "0"
    } judge: { said, store async throws in
      let kinds = try await store.events(limit: 100_000).compactMap(\.event?.kind)
      #expect(kinds.last == "revoked")
      #expect(kinds.dropLast().allSatisfy { $0 == "used" })
      #expect(kinds.count - 1 == said.numbers.joined().reduce(0, +))
    },
  ]

  private static let mostUses = 25

  /// Answers how often.
  private static func useUntilRevoked(_ participant: Participant) async throws -> String {
    for uses in 0..<mostUses {
      let outcome = try await participant.outcome { store throws(StoreError) in
        try await store.commit(.requireBinding(id: "b-1", version: 1), events: [.sample("used")])
      }
      guard outcome == Participant.done else { return "\(uses)" }
      await Task.yield()
    }
    return "\(mostUses)"
  }
}
