// A change set is done whole where everything is as it was read, or not at all.

internal import Testing
internal import TouchstonePolicy
public import TouchstoneStore

extension StoreConformance {
  static let compareAndSetChecks: [Check] = [
    Check(name: "every record is refused at any version but its own, and nothing of the change set is visible") {
      store in
      let key = ExpiringKey.sample()
      let records: [(RecordVersion) -> Change] = [
        { .putBinding(.sample("b-1", version: $0)) },
        { .putDevice(.sample("phone-1", failures: 1, version: $0)) },
        { .putProfile(.sample(version: $0)) },
        { .putEvaluation(EvaluationRecord(key: key, version: $0)) },
        { .putToken(TokenRecord(key: key, state: .issued, transaction: [1], version: $0)) },
      ]
      for put in records {
        try await expectRefused(put(1), by: store)
        try await store.commit(put(0))
        try await expectRefused(put(0), by: store)
        try await expectRefused(put(2), by: store)
        try await store.commit(put(1))
        try await expectRefused(put(1), by: store)
      }
    },

    Check(name: "a condition on a version holds at that version alone") { store in
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 1)))
      let conditions: [(RecordVersion) -> Change] = [
        { .requireBinding(id: "b-1", version: $0) }, { .requireDevice(id: "phone-1", version: $0) },
        { .touchBinding(id: "b-1", version: $0, lastUsedAt: Sample.now) },
      ]
      for condition in conditions {
        try await store.commit(condition(1))
        try await expectRefused(condition(0), by: store)
        try await expectRefused(condition(2), by: store)
      }
      try await store.commit(.requireBinding(id: "b-2", version: 0), .requireDevice(id: "phone-2", version: 0))
    },

    // R32
    Check(name: "a condition on a token's row holds at its version alone") { store in
      let (key, other) = (ExpiringKey.sample(), ExpiringKey.sample())
      try await store.commit(.requireToken(key, version: 0))
      try await expectRefused(.requireToken(key, version: 1), by: store)
      try await store.commit(.putToken(TokenRecord(key: key, state: .issued, transaction: [1], version: 0)))
      try await store.commit(.requireToken(key, version: 1), .requireToken(other, version: 0))
      try await expectRefused(.requireToken(key, version: 0), by: store)
      try await expectRefused(.requireToken(key, version: 2), by: store)
    },

    Check(name: "conditions are looked at before anything is written, in whatever order they stand") { store in
      let device = DeviceRecord.sample("phone-1", failures: 1)
      try await store.commit(.putDevice(device), .requireDevice(id: "phone-1", version: 0))
      #expect(try await store.device(id: "phone-1").version == 1)
    },

    Check(name: "a binding's use is kept without a new version, and no older write takes it back") { store in
      let binding = BindingRecord.sample("b-1")
      let used = Sample.now + .seconds(60)
      try await store.commit(.putBinding(binding))
      try await store.commit(.touchBinding(id: "b-1", version: 1, lastUsedAt: used))
      let touched = try await store.attemptRecords(bindingID: "b-1").binding
      #expect(touched == binding.stored.with { $0.lastUsedAt = used })
      // Read before it was used.
      try await store.commit(.putBinding(binding.stored))
      let put = try await store.attemptRecords(bindingID: "b-1").binding
      #expect(put == binding.stored.stored.with { $0.lastUsedAt = used })
    },

    // R43
    Check(name: "a binding's counter is raised from what it is alone, and no older write takes it back") { store in
      let binding = BindingRecord.sample("b-1").with { $0.proofCounter = 3 }
      try await store.commit(.putBinding(binding))
      func raising(from: UInt32, to: UInt32) -> Change { .raiseProofCounter(bindingID: "b-1", from: from, to: to) }
      for from in [0, 2, 4] as [UInt32] { try await expectRefused(raising(from: from, to: 9), by: store) }
      try await expectRefused(.raiseProofCounter(bindingID: "b-2", from: 0, to: 1), by: store)
      try await store.commit(.touchBinding(id: "b-1", version: 1, lastUsedAt: Sample.now), raising(from: 3, to: .max))
      try await expectRefused(raising(from: 3, to: 4), by: store)
      let raised = try await store.attemptRecords(bindingID: "b-1").binding
      #expect(raised == binding.stored.with { ($0.proofCounter, $0.lastUsedAt) = (.max, Sample.now) })
      // Read before it was raised; and raised in the change set that revokes it.
      try await store.commit(.putBinding(binding.stored))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding?.proofCounter == .max)
      try await store.commit(.putBinding(.sample("b-3")))
      try await store.commit(
        .putBinding(.sample("b-3").stored.revoked()), .raiseProofCounter(bindingID: "b-3", from: 0, to: 1))
      #expect(try await store.attemptRecords(bindingID: "b-3").binding?.proofCounter == 1)
      #expect(try await store.bindings().map(\.proofCounter) == [.max])
    },

    Check(name: "of many that raise a counter from the same, one does") { store in
      try await store.commit(.putBinding(.sample("b-1")))
      for round in 0..<5 as Range<UInt32> {
        let successes = await successes(of: 8) { _ in
          try await store.commit(
            .touchBinding(id: "b-1", version: 1, lastUsedAt: Sample.now),
            .raiseProofCounter(bindingID: "b-1", from: round, to: round + 1))
        }
        #expect(successes == 1)
      }
      #expect(try await store.attemptRecords(bindingID: "b-1").binding?.proofCounter == 5)
    },

    Check(name: "what was answered is what is read next") { store in
      for version in 0..<20 as Range<RecordVersion> {
        let device = DeviceRecord.sample("phone-1", failures: UInt32(version), version: version)
        try await store.commit(.putDevice(device))
        #expect(try await store.device(id: "phone-1").version == version + 1)
      }
    },
  ]

  /// Refused as a conflict, together with what stands beside it in its change set.
  static func expectRefused(
    _ change: Change, by store: any Store, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let bystander = "bystander \(UniqueID.random())"
    let events = try await store.events().count
    let refusal = await errorCode {
      try await store.commit(.putDevice(.sample(bystander, failures: 1)), change, events: [.sample()])
    }
    #expect(refusal == .conflict, sourceLocation: sourceLocation)
    #expect(try await store.device(id: bystander).version == 0, sourceLocation: sourceLocation)
    #expect(try await store.events().count == events, sourceLocation: sourceLocation)
  }

  /// The code with which the store refused the call; `nil` if it did not.
  public static func errorCode(of call: () async throws -> Void) async -> StoreError.Code? {
    do {
      try await call()
      return nil
    } catch let error as StoreError {
      return error.code
    } catch {
      Issue.record(error)
      return nil
    }
  }

  /// How many of so many calls at a time did not throw.
  static func successes(of count: Int, _ call: @escaping @Sendable (Int) async throws -> Void) async -> Int {
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<count {
        group.addTask {
          do {
            try await call(number)
            return true
          } catch {
            return false
          }
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
  }
}
