// Sweeping and closing.

internal import Testing
internal import TouchstonePolicy
public import TouchstoneStore

extension StoreConformance {
  static let lifecycleChecks: [Check] = [
    Check(name: "a sweep drops what expired before its time, and nothing else") { store in
      let limit = Sample.now
      let expired = ExpiringKey.sample(expiresAt: limit + .microseconds(-1))
      let alive = ExpiringKey.sample(expiresAt: limit)
      for key in [expired, alive] {
        try await store.commit(
          .putEvaluation(EvaluationRecord(key: key)), .useTicket(key),
          .putToken(TokenRecord(key: key, state: .revoked, transaction: [], version: 0)))
      }
      let sweep = try await store.sweep(before: limit)
      #expect(sweep == SweepResult(removedRows: 3, hasMore: false, sweptBefore: limit))
      #expect(try await store.token(alive)?.version == 1)
      #expect(try await store.attemptRecords(bindingID: "b-1", evaluation: alive).evaluation?.version == 1)
      #expect(try await store.enrolmentRecords(ticket: alive).isTicketUsed)
      #expect(try await store.sweep(before: limit).removedRows == 0)
      // The mark, without a sweep by any clock.
      #expect(try await store.sweep(before: UnixTime(microseconds: 0)).sweptBefore == limit)
    },

    // R28, R35: the clock may be set back, or a commit be late.
    Check(name: "what expired before a sweep counts as used, whether it was or not") { store in
      let used = ExpiringKey.sample(expiresAt: Sample.now + .seconds(10))
      try await store.commit(
        .putEvaluation(EvaluationRecord(key: used)), .useTicket(used),
        .putToken(TokenRecord(key: used, state: .issued, transaction: [1], version: 0)))
      _ = try await store.sweep(before: Sample.now + .seconds(20))
      try await expectSpent([used, .sample(expiresAt: Sample.now + .seconds(19))], in: store)
      try await expectUnspent(.sample(expiresAt: Sample.now + .seconds(20)), in: store)
    },

    Check(name: "an earlier sweep does not take back what a later one said") { store in
      _ = try await store.sweep(before: Sample.now + .seconds(20))
      _ = try await store.sweep(before: Sample.now)
      try await expectSpent([.sample(expiresAt: Sample.now + .seconds(10))], in: store)
    },

    Check(name: "a sweep's first step speaks for the rows that it leaves") { store in
      let keys = (0..<1_500).map { _ in ExpiringKey.sample() }
      try await commit(
        keys.map { .putToken(TokenRecord(key: $0, state: .issued, transaction: [], version: 0)) }, to: store)
      #expect(try await store.sweep(before: Sample.now + .seconds(200)).removedRows < keys.count)
      for key in keys { #expect(try await store.token(key)?.state == .revoked) }
    },

    Check(name: "a long sweep goes in steps and says that there is more") { store in
      let count = 5_000
      for _ in 0..<count / 500 {
        let evaluations = (0..<500).map { _ in Change.putEvaluation(EvaluationRecord(key: .sample())) }
        try await commit(evaluations, to: store)
      }
      var steps = [try await store.sweep(before: Sample.now + .seconds(200))]
      while steps.last?.hasMore == true { steps.append(try await store.sweep(before: Sample.now + .seconds(200))) }
      #expect(steps.count > 1)
      #expect(steps.map(\.removedRows).reduce(0, +) == count)
    },

    Check(name: "a probe leaves nothing behind") { store in
      try await store.commit(.putDevice(.sample("phone-1", failures: 1)), events: [.sample()])
      let head = try await store.eventChainHead()
      for _ in 0..<3 { try await store.probe() }
      #expect(try await store.eventChainHead() == head)
      #expect(try await store.sweep(before: Sample.now).removedRows == 0)
      #expect(try await store.device(id: "phone-1").version == 1)
    },

    Check(name: "the first key check stays, through sweeps, and is no event") { store in
      let (first, other) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
      #expect(try await store.keyCheck(initially: first) == first)
      #expect(try await store.keyCheck(initially: other) == first)
      _ = try await store.sweep(before: Sample.now + .seconds(1_000))
      #expect(try await store.keyCheck(initially: other) == first)
      #expect(try await store.eventChainHead() == .genesis)
    },

    Check(name: "the signal rings after events were appended, until nobody listens any more") { store in
      let (rings, continuation) = AsyncStream<Void>.makeStream()
      let observation = store.eventSignal.observe { continuation.yield() }
      #expect(store.eventSignal.isObserved)
      var ringing = rings.makeAsyncIterator()
      for count in 1...3 {
        try await store.commit(events: [.sample()])
        // Maybe for an earlier one: then it rings once more.
        repeat { _ = await ringing.next() } while try await store.events().count < count
      }
      store.eventSignal.remove(observation)
      #expect(!store.eventSignal.isObserved)
      try await store.commit(events: [.sample()])
    },

    Check(name: "closing finishes what was accepted and refuses what comes after") { store in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask {
            let refusal = await errorCode {
              try await store.commit(.putDevice(.sample("phone-\(number)", failures: 1)))
            }
            #expect(refusal == nil || refusal == .unavailable)
          }
        }
        group.addTask { await store.close() }
      }
      let calls: [@Sendable () async throws -> Void] = [
        { try await store.commit(.putDevice(.sample("late", failures: 1))) },
        { _ = try await store.attemptRecords(bindingID: "b-1") },
        { _ = try await store.profile() },
        { _ = try await store.device(id: "phone-1") },
        { _ = try await store.bindings() },
        { _ = try await store.events() },
        { _ = try await store.sweep(before: Sample.now) },
        { try await store.probe() },
        { _ = try await store.keyCheck(initially: [1]) },
      ]
      for call in calls { #expect(await errorCode(of: call) == .unavailable) }
      await store.close()
    },
  ]

  /// Reads as used, and cannot be put at any version.
  public static func expectSpent(_ keys: [ExpiringKey], in store: any Store) async throws {
    for key in keys {
      let evaluation = try await store.attemptRecords(bindingID: "b-1", evaluation: key).evaluation
      #expect(evaluation?.standing.isFinished == true)
      #expect(try await store.token(key)?.state == .revoked)
      #expect(try await store.enrolmentRecords(ticket: key).isTicketUsed)
      for version in 0...1 as ClosedRange<RecordVersion> {
        try await expectRefused(.putEvaluation(EvaluationRecord(key: key, version: version)), by: store)
        try await expectRefused(
          .putToken(TokenRecord(key: key, state: .consumed, transaction: [], version: version)), by: store)
      }
      try await expectRefused(.useTicket(key), by: store)
    }
  }

  private static func expectUnspent(_ key: ExpiringKey, in store: any Store) async throws {
    #expect(try await store.attemptRecords(bindingID: "b-1", evaluation: key).evaluation == nil)
    #expect(try await store.token(key) == nil)
    #expect(try await !store.enrolmentRecords(ticket: key).isTicketUsed)
    try await store.commit(
      .putEvaluation(EvaluationRecord(key: key)), .useTicket(key),
      .putToken(TokenRecord(key: key, state: .consumed, transaction: [], version: 0)))
  }

  private static func commit(_ changes: [Change], to store: any Store) async throws {
    let result = await withCheckedContinuation { continuation in
      store.commit(ChangeSet(changes: changes)) { continuation.resume(returning: $0) }
    }
    try result.get()
  }
}
