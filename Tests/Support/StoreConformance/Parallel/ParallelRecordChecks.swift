// Records and keys for which many reach at once: each change rests on what was read, and what serves once serves one.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let parallelRecordChecks: [ParallelCheck] = [
    // R8
    ParallelCheck("no count is lost where all read anew after a conflict", participants: 40) { participant in
      try await participant.untilNoConflict { store in
        var device = try await store.device(id: "phone-1")
        device.biometry.consecutiveFailures += 1
        try await store.commit(.putDevice(device))
      }
      return "counted"
    } judge: { said, store async throws in
      #expect(said.tally == ["counted": 40])
      #expect(try await store.device(id: "phone-1") == .sample("phone-1", failures: 40, version: 40).unlocked)
    },

    // R14
    ParallelCheck("no failure of a secret is lost where all read anew after a conflict", participants: 40) { store in
      try await store.commit(.putProfile(.sample(passcode: .sample())))
    } participate: { participant in
      try await participant.untilNoConflict { store in
        var profile = try await store.profile()
        profile.passcode?.standing.failures += 1
        try await store.commit(.putProfile(profile))
      }
      return "counted"
    } judge: { said, store async throws in
      #expect(said.tally == ["counted": 40])
      let profile = try await store.profile()
      #expect(profile.passcode?.standing.failures == SecretRecord.sample().standing.failures + 40)
      #expect(profile.version == 41)
    },

    // R28
    ParallelCheck("of parallel uses of a ticket one wins, and later ones lose", participants: 50) { participant in
      try await participant.outcome { store throws(StoreError) in try await store.commit(.useTicket(.numbered(1))) }
    } judge: { said, store async throws in
      said.expectOneWinner()
      #expect(try await store.enrolmentRecords(ticket: .numbered(1)).isTicketUsed)
      try await expectRefused(.useTicket(.numbered(1)), by: store)
    },

    // R35
    ParallelCheck(
      "of parallel identical attempts one succeeds, and each leaves the others' effects alone", participants: 50
    ) { participant in
      let finished = EvaluationRecord(key: .numbered(1), standing: EvaluationStanding(isFinished: true))
      return try await participant.outcome { store throws(StoreError) in
        try await store.commit(
          .putEvaluation(finished), .putDevice(.sample("phone-\(participant.number)", failures: 1)),
          events: [.sample("by \(participant.number)")])
      }
    } judge: { said, store async throws in
      said.expectOneWinner()
      for (number, outcome) in said.enumerated() {
        let isDone = outcome == Participant.done
        #expect(try await store.device(id: "phone-\(number)").version == (isDone ? 1 : 0))
      }
      let winner = said.firstIndex(of: Participant.done)
      #expect(try await store.events().map { $0.event?.kind } == [winner.map { "by \($0)" }])
      let evaluation = try await store.attemptRecords(bindingID: "b-1", evaluation: .numbered(1)).evaluation
      #expect(evaluation?.standing.isFinished == true)
    },

    // R39
    ParallelCheck("of parallel consumptions of a token one succeeds", participants: 50) { store in
      try await store.commit(
        .putToken(TokenRecord(key: .numbered(1), state: .issued, transaction: [1], version: 0)))
    } participate: { participant in
      let consumed = TokenRecord(key: .numbered(1), state: .consumed, transaction: [1], version: 1)
      return try await participant.outcome { store throws(StoreError) in try await store.commit(.putToken(consumed)) }
    } judge: { said, store async throws in
      said.expectOneWinner()
      #expect(try await store.token(.numbered(1))?.state == .consumed)
    },

    ParallelCheck("of first starts at once one gives the key check, and all know it", participants: 20) { participant in
      let check = try await participant.store.keyCheck(initially: [UInt8(participant.number)])
      return "\(check)"
    } judge: { said, store async throws in
      let check = try await store.keyCheck(initially: [0xFF])
      #expect(said.tally == ["\(check)": 20])
      #expect(check != [0xFF])
    },
  ]
}

extension DeviceRecord {
  /// Counted by hand: no rule locked it.
  fileprivate var unlocked: DeviceRecord {
    var copy = self
    copy.biometry.isLockedOut = false
    return copy
  }
}
