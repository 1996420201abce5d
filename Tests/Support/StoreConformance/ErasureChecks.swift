// Erasing a profile: all of it goes, nothing else does, and the chain still verifies.

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let erasureChecks: [Check] = [
    Check(name: "an erasure takes the profile's bindings, secrets and settings, and leaves everybody else's") { store in
      let others = [("bob", Sample.application), ("alice", "com.example.shop"), ("alicé", Sample.application)]
      try await store.commit(.putProfile(.sample(settings: .sample, passcode: .sample())))
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)),
        .putBinding(.sample("b-2", device: "phone-2", isRevoked: true)),
        .putReceipt(bindingID: "b-1", AppAttestRecord.sampleReceipt), .putReceipt(bindingID: "b-2", [2]))
      for (profile, application) in others {
        let device = "\(profile) in \(application)"
        try await store.commit(
          .putProfile(.sample(profile, application: application, passcode: .sample())),
          .putBinding(.sample(device, application: application, profile: profile, device: device)),
          .putReceipt(bindingID: device, [3]))
      }
      try await store.commit(.eraseProfile(.alice))

      #expect(try await store.profile() == ProfileRecord(applicationID: Sample.application, profileID: "alice"))
      #expect(try await store.bindings(includingRevoked: true) == [])
      #expect(try await store.activeBinding(deviceID: "phone-1") == nil)
      for id in ["b-1", "b-2"] {
        #expect(try await store.attemptRecords(bindingID: id).binding == nil)
        #expect(try await store.receipt(ofBinding: id) == [])
      }
      let enrolment = try await store.enrolmentRecords(deviceID: "phone-1")
      #expect(enrolment.activeBindingCount == 0)
      #expect(enrolment.deviceBinding == nil)
      // The device's failures are its own (R8).
      #expect(try await store.device(id: "phone-1").version == 1)
      for (profile, application) in others {
        #expect(try await store.profile(profile, applicationID: application).passcode != nil)
        #expect(try await store.bindings(applicationID: application, profileID: profile).count == 1)
        #expect(try await store.receipt(ofBinding: "\(profile) in \(application)") == [3])
      }
    },

    // R41
    Check(name: "an erasure removes the content of the profile's events alone, and accounts for each") { store in
      let spelling = EventDraft.sample("other spelling", profile: "alicé")
      try await store.commit(events: [
        .sample("a"), .sample("of bob", profile: "bob"), .sample("elsewhere", application: "com.example.shop"),
        .sample("b"), .sample("of nobody", profile: ""), spelling, .sample("c"),
      ])
      let before = try await store.events()
      try await store.commit(.eraseProfile(.alice), events: [.sample("after", profile: "bob")])
      let after = try await store.events()

      #expect(after.map(\.isErased) == [true, false, false, true, false, false, true, false, false])
      #expect(after.map(\.hash).starts(with: before.map(\.hash)))
      #expect(after.prefix(7).map(\.content.digest) == before.map(\.content.digest))
      let account = try #require(after[7].event)
      #expect(account.kind == ProfileErasure.eventKind)
      #expect(account.profileID == "")
      #expect(account.applicationID == Sample.application)
      #expect(account.caller == "admin")
      #expect(account.details.first { $0.key == "erased_events" }?.value == "3")
      try await expectWholeChain(of: store, erasedCount: 3)
    },

    Check(name: "erased events are found by no filter, and the account by its application") { store in
      try await store.commit(events: [.sample("a"), .sample("b", profile: "bob")])
      try await store.commit(.eraseProfile(.alice))
      let found: [(EventFilter, [UInt64])] = [
        (EventFilter(applicationID: ""), [1, 2, 3]), (EventFilter(applicationID: Sample.application), [2, 3]),
        (EventFilter(applicationID: Sample.application, profileID: "alice"), []),
        (EventFilter(applicationID: Sample.application, kindPrefixes: ["profile."]), [3]),
        (EventFilter(applicationID: "", kindPrefixes: ["a"]), []),
      ]
      for (filter, sequences) in found {
        #expect(try await store.events(matching: filter).map(\.sequence) == sequences)
      }
    },

    Check(name: "what was read before an erasure is not there any more, nor is it once the profile is back") { store in
      let profile = ProfileRecord.sample(passcode: .sample())
      try await store.commit(.putProfile(profile), .putBinding(.sample("b-1")))
      let read = try await store.attemptRecords(bindingID: "b-1")
      try await store.commit(.eraseProfile(.alice))
      let stale: [Change] = [
        .putProfile(read.profile), .putBinding(.sample("b-1", version: 1)),
        .requireProfile(applicationID: Sample.application, profileID: "alice", version: read.profile.version),
        .touchBinding(id: "b-1", version: 1, lastUsedAt: Sample.now), .requireBinding(id: "b-1", version: 1),
      ]
      for change in stale { try await expectRefused(change, by: store) }
      try await store.commit(.putProfile(.sample()), .putBinding(.sample("b-2")))
      for change in stale { try await expectRefused(change, by: store) }
      #expect(try await store.profile().passcode == nil)
      try await store.commit(.putProfile(try await store.profile()))
    },

    // R28, R37
    Check(name: "each erasure of a profile, known or not, raises its erasure mark") { store in
      let first = try await store.holderRecords().requiringMark
      try await store.commit(first)
      // Never there.
      try await store.commit(.eraseProfile(.alice))
      let second = try await store.holderRecords().requiringMark
      try await expectRefused(first, beside: .putProfile(.sample()), by: store)
      // Made since.
      try await store.commit(second, .putProfile(.sample()))
      #expect(try await store.enrolmentRecords().holder == store.holderRecords())
      try await store.commit(.eraseProfile(.alice))
      let third = try await store.holderRecords().requiringMark
      try await expectRefused(second, by: store)
      // There before, and changed often.
      for version in 0..<5 as Range<RecordVersion> {
        let read = try await store.profile().version
        #expect(version == 0 ? read == 0 : read > version)
        try await store.commit(.putProfile(.sample(version: read)))
      }
      try await store.commit(.eraseProfile(.alice))
      try await expectRefused(third, by: store)
      try await store.commit(try await store.holderRecords().requiringMark)
    },

    // R28
    Check(name: "an erasure leaves the marks of other applications' profiles, and of most in its own") { store in
      let elsewhere = try await store.holderRecords(applicationID: "com.example.shop").requiringMark
      var own: [Change] = []
      for number in 0..<20 { own.append(try await store.holderRecords(profileID: "new \(number)").requiringMark) }
      for _ in 0..<3 { try await store.commit(.eraseProfile(.alice)) }
      try await store.commit(elsewhere)
      var refused = 0
      for mark in own {
        let refusal = await errorCode { try await store.commit(mark) }
        if refusal != nil { refused += 1 }
      }
      // One in 256 shares the mark.
      #expect(refused <= 1)
      // It is no profile, and nothing that is listed or erased.
      let id = ProfileRecord.erasureMarkID(forProfile: "alice")
      #expect(try await store.bindings(profileID: id, includingRevoked: true) == [])
      #expect(try await store.profile(id).standing == ProfileRecord.placeholder(in: Sample.application).standing)
      #expect(try await store.events().allSatisfy { $0.event?.profileID != id })
    },

    Check(name: "erasing nobody, or again, is accounted for as nothing") { store in
      try await store.commit(events: [.sample("a")])
      for _ in 0..<2 { try await store.commit(.eraseProfile(.alice)) }
      try await store.commit(.eraseProfile(.sample("nobody")))
      let counts = try await store.events().map { record in
        record.event?.details.first { $0.key == "erased_events" }?.value
      }
      #expect(counts == [nil, "1", "0", "0"])
      try await expectWholeChain(of: store, erasedCount: 1)
    },

    Check(name: "a refused change set erases nothing") { store in
      try await store.commit(.putProfile(.sample(passcode: .sample())), .putBinding(.sample("b-1")))
      try await store.commit(events: [.sample("a")])
      try await expectRefused(.eraseProfile(.alice), beside: .requireDevice(id: "phone-1", version: 7), by: store)
      #expect(try await store.profile().version == 1)
      #expect(try await store.attemptRecords(bindingID: "b-1").binding != nil)
      #expect(try await store.events().map(\.isErased) == [false])
    },

    Check(name: "a long history is erased while others are written, and every event of it is accounted for") { store in
      let names = ["alice", "bob", "carol"]
      for _ in 0..<100 {
        try await store.commit(events: (0..<12).map { .sample("e", profile: names[$0 % 3]) })
      }
      let made = await successes(of: 60) { number in
        if number == 30 {
          try await store.commit(.eraseProfile(.alice))
        } else {
          try await store.commit(
            .putDevice(.sample("phone-\(number)", failures: 1)), events: [.sample("late", profile: names[number % 3])])
        }
      }
      // 400 of each before, and 20 of each meanwhile: one of alice's turns was the erasure.
      #expect(made == 60)
      let account = try #require(try await store.events(matching: .accounts).first)
      #expect(try await store.events(matching: .ofAlice).allSatisfy { $0.sequence > account.sequence })
      try await store.commit(.eraseProfile(.alice))
      #expect(try await store.events(matching: .ofAlice) == [])
      #expect(try await store.events(matching: .ofBob, limit: 2_000).count == 420)
      try await expectWholeChain(of: store, erasedCount: 419)
    },

    // R41
    Check(name: "an erasure of more events than go in one transaction is answered when all are erased") { store in
      let count = 2 * ProfileErasure.maximumEventsPerTransaction + 100
      for start in stride(from: 0, to: count, by: 100) {
        try await store.commit(events: (start..<min(start + 100, count)).map { _ in .sample() })
      }
      try await store.commit(.putProfile(.sample()), .putBinding(.sample("b-1")), events: [.sample(profile: "bob")])
      try await store.commit(.eraseProfile(.alice), events: [.sample("after", profile: "bob")])
      #expect(try await store.events(matching: .ofAlice) == [])
      #expect(try await store.events(matching: .ofBob).count == 2)
      #expect(try await store.profile().version == 0)
      try await expectWholeChain(of: store, erasedCount: UInt64(count))
      // One account for each 64, and none for nothing.
      #expect(try await store.events(matching: .accounts).count == (count + 63) / 64)
    },
  ]

  private static func expectWholeChain(of store: any Store, erasedCount: UInt64) async throws {
    var verifier = EventChainVerifier()
    for record in try await store.events(limit: 10_000) { try verifier.verify(record) }
    try verifier.conclude(at: await store.eventChainHead())
    try verifier.requireAccounts()
    #expect(verifier.erasedCount == erasedCount)
  }

  private static func expectRefused(_ change: Change, beside other: Change, by store: any Store) async throws {
    let refusal = await errorCode { try await store.commit(change, other) }
    #expect(refusal == .conflict)
  }
}

extension HolderRecords {
  /// As a ticket for a profile without a record rests on it.
  fileprivate var requiringMark: Change {
    .requireProfile(
      applicationID: erasureMark.applicationID, profileID: erasureMark.profileID, version: erasureMark.version)
  }
}

extension EventFilter {
  fileprivate static let ofAlice = EventFilter(applicationID: Sample.application, profileID: "alice")
  fileprivate static let accounts = EventFilter(
    applicationID: Sample.application, kindPrefixes: [ProfileErasure.eventKind])
  fileprivate static let ofBob = EventFilter(applicationID: Sample.application, profileID: "bob")
}
