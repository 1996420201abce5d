// The largest and the outermost values that may be.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let sizeChecks: [Check] = [
    Check(name: "the longest names, and as long a transaction, are stored whole") { store in
      // 128 bytes; of three each, the last one cut short by none.
      let long = String(repeating: "€", count: 42) + "ab"
      let names = ["\(long)", String(repeating: "x", count: 127) + "y", "\u{10FFFF}"]
      for (number, name) in names.enumerated() {
        try await store.commit(
          .putBinding(.sample(name, application: name, profile: name, device: name)),
          .putDevice(.sample(name, failures: UInt32(number))),
          .putProfile(.sample(name, application: name, passcode: .sample(verifier: .init(repeating: 1, count: 1_024)))))
        let records = try await store.attemptRecords(for: .binding(applicationID: name, bindingID: name))
        #expect(records.binding?.profileID == name)
        #expect(records.device.biometry.consecutiveFailures == UInt32(number))
        #expect(records.profile.passcode?.verifier.count == 1_024)
      }
      let token = TokenRecord(
        key: .sample(), state: .issued, transaction: (0..<65_536).map { UInt8(truncatingIfNeeded: $0) }, version: 0)
      try await store.commit(.putToken(token))
      #expect(try await store.token(token.key)?.transaction == token.transaction)
    },

    Check(name: "an event with much in it is stored whole, and chained") { store in
      let details = (100..<200).map { EventDetail(key: "\($0)", value: String(repeating: "\0é", count: 500)) }
      let event = EventDraft.sample("large", details: details)
      try await store.commit(events: [event, .sample("small")])
      let records = try await store.events()
      #expect(records.first?.event == event)
      var verifier = EventChainVerifier()
      for record in records { try verifier.verify(record) }
    },

    Check(name: "the first and the last times that a caller can say are stored") { store in
      for time in [UnixTime(seconds: -62_135_596_800), UnixTime(seconds: 253_402_300_799), UnixTime(microseconds: -1)] {
        let id = "b\(time.microseconds)"
        try await store.commit(
          .putBinding(.sample(id, profile: id, lastUsedAt: time)),
          .putProfile(.sample(id, passcode: .sample(lock: .until(time), setAt: time))))
        let records = try await store.attemptRecords(bindingID: id)
        #expect(records.binding?.lastUsedAt == time)
        #expect(records.profile.passcode?.standing.lock == .until(time))
        #expect(records.profile.passcode?.setAt == time)
      }
    },

    Check(name: "one change set may be large: all of it is done, or nothing") { store in
      let count = 300
      func puts(version: RecordVersion) -> [Change] {
        (0..<count).map { .putDevice(.sample("phone-\($0)", failures: UInt32(version + 1), version: version)) }
      }
      func commit(_ changes: [Change]) async throws {
        let changeSet = ChangeSet(changes: changes, events: (0..<count).map { .sample("event-\($0)") })
        try await withCheckedContinuation { continuation in
          store.commit(changeSet) { continuation.resume(returning: $0) }
        }.get()
      }
      try await commit(puts(version: 0))
      let refusal = await errorCode { try await commit(puts(version: 1) + [.requireDevice(id: "none", version: 1)]) }
      #expect(refusal == .conflict)
      #expect(try await store.device(id: "phone-\(count - 1)").version == 1)
      #expect(try await store.events().compactMap(\.event?.kind) == (0..<count).map { "event-\($0)" })
    },
  ]
}
