import TestSupport
import StoreConformance
import Testing
import TouchstoneStore
import TouchstoneStorePostgres

/// R41: an altered, dropped or reordered event is named.
struct PostgresAuditLogTests {
  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: String
    let fault: EventChainVerifier.Fault?
  }

  static let tamperings = [
    Tampering(testDescription: "nothing", sql: "SELECT 1", fault: nil),
    Tampering(
      testDescription: "an altered content", sql: "UPDATE events SET caller = '\\x41' WHERE sequence = 3",
      fault: .altered(sequence: 3)),
    Tampering(
      testDescription: "an altered hash", sql: "UPDATE events SET hash = '\\x41' WHERE sequence = 2",
      fault: .altered(sequence: 2)),
    Tampering(
      testDescription: "an unreadable row", sql: "UPDATE events SET details = '\\xffffffff' WHERE sequence = 4",
      fault: .altered(sequence: 4)),
    Tampering(
      testDescription: "a dropped event", sql: "DELETE FROM events WHERE sequence = 2", fault: .missing(sequence: 2)),
    Tampering(
      testDescription: "a dropped end", sql: "DELETE FROM events WHERE sequence = 6", fault: .missing(sequence: 6)),
    Tampering(
      testDescription: "events that changed places",
      sql: "UPDATE events SET sequence = -sequence WHERE sequence IN (2, 3); "
        + "UPDATE events SET sequence = 5 + sequence WHERE sequence < 0", fault: .altered(sequence: 2)),
    Tampering(
      testDescription: "an event beyond the end",
      sql: "INSERT INTO events (sequence, hash, digest) VALUES (9, '\\x00', '\\x00')", fault: .unexpected(sequence: 9)),
    Tampering(
      testDescription: "a content removed without an account",
      sql: "UPDATE events SET digest = '\\x00', salt = NULL WHERE sequence = 4", fault: .altered(sequence: 4)),
  ]

  @Test(arguments: tamperings)
  func whatIsNotAsItWasWrittenIsNamed(_ tampering: Tampering) async throws {
    try await withMigratedDatabase { uri in
      try await withStores(2, at: uri) { stores in
        for number in 0..<4 { try await stores[number % 2].commit(events: [.sample(profile: "\(number)")]) }
        try await stores[0].commit(.eraseProfile(.sample("0")), events: [.sample(profile: "9")])
        #expect(try await stores[1].events().count == 6)
      }
      try PostgresServer.shared.get().execute(tampering.sql, at: uri)
      let verification = try await PostgresAuditLog.verify(uri: uri, options: .small)
      #expect(verification.fault == tampering.fault)
      #expect(verification.head.sequence == 6)
      #expect(verification.erasedCount == 1)
      if let fault = tampering.fault {
        #expect(verification.verifiedCount <= fault.sequence - 1)
      } else {
        #expect(verification.verifiedCount == 6)
      }
    }
  }

  /// Sealing stops, because something is wrong, and each of the three ways to find out names the row.
  @Test(arguments: ["", "00", "00000010", "FFFFFFFF"])
  func anUnsealedEventThatCannotBeReadIsNamed(_ events: String) async throws {
    try await withMigratedDatabase { uri in
      let server = try PostgresServer.shared.get()
      let (reasons, alarms) = AsyncStream<String>.makeStream()
      var options = PostgresStoreOptions.small
      options.sealingStopped = { alarms.yield($0) }
      try await withStores(1, at: uri, options: options) { stores in
        try await stores[0].commit(events: [.sample("before")])
        #expect(try await stores[0].events().count == 1)
        try server.execute(
          "INSERT INTO unsealed_events VALUES ('\\xBAD0', now(), 0, '\\x\(events)')", at: uri)
        try await stores[0].commit(events: [.sample("after")])
        let told = try #require(await reasons.first { _ in true })
        let error = await #expect(throws: StoreError.self) { _ = try await stores[0].events() }
        #expect(error?.code == .corrupt)
        let refusal = await #expect(throws: StoreOpenError.self) {
          _ = try await PostgresAuditLog.verify(uri: uri, options: .small)
        }
        #expect(refusal?.code == .corrupt)
        for message in [told, error?.message, refusal?.message] {
          #expect(message?.contains("unsealed_events") == true && message?.contains("bad0") == true)
        }
        try server.execute("DELETE FROM unsealed_events WHERE id = '\\xBAD0'", at: uri)
        #expect(try await stores[0].events().compactMap(\.event?.kind) == ["before", "after"])
      }
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).verifiedCount == 2)
    }
  }

  @Test func anAlarmTellsThatSealingStandsStill() async throws {
    try await withMigratedDatabase { uri in
      let (reasons, alarms) = AsyncStream<String>.makeStream()
      var options = PostgresStoreOptions.small
      options.sealingStopped = { alarms.yield($0) }
      options.newsInterval = .milliseconds(2)
      options.sealingPatience = .milliseconds(200)
      try await withStores(1, at: uri, options: options) { stores in
        try await withTransaction("SELECT * FROM event_chain FOR UPDATE", at: uri) {
          try await stores[0].commit(events: [.sample()])
          #expect(await reasons.first { _ in true }?.contains("event_chain") == true)
        }
        #expect(try await stores[0].events().count == 1)
      }
    }
  }

  /// By a process that ended before it sealed them.
  @Test func whatAnotherProcessLeftUnsealedIsSealedByThoseThatGoOn() async throws {
    try await withMigratedDatabase { uri in
      var options = PostgresStoreOptions.small
      options.sealInterval = .seconds(3_600)
      try await withStores(1, at: uri, options: options) { stores in
        try await stores[0].commit(events: [.sample("left")])
      }
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).verifiedCount == 0)
      try await withStores(1, at: uri) { stores in
        let events = try await stores[0].events()
        #expect(events.compactMap(\.event?.kind) == ["left"])
      }
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).verifiedCount == 1)
    }
  }

  /// A round that would begin in an hour is brought forward, by a reader and by many commits.
  @Test func nobodyWaitsForALateRound() async throws {
    try await withMigratedDatabase { uri in
      var options = PostgresStoreOptions.small
      (options.sealInterval, options.newsInterval) = (.seconds(3_600), .seconds(3_600))
      try await withStores(1, at: uri, options: options) { stores in
        try await stores[0].commit(events: [.sample("read")])
        #expect(try await stores[0].events().count == 1)
        let (rings, ring) = AsyncStream<Void>.makeStream()
        let observation = stores[0].eventSignal.observe { ring.yield() }
        for _ in 0..<500 { try await stores[0].commit(events: [.sample("many")]) }
        await rings.first { true }
        stores[0].eventSignal.remove(observation)
        #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).verifiedCount >= 500)
      }
    }
  }

  @Test func ofSeveralProcessesOneMayArchiveUntilItsTimeIsOver() async throws {
    try await withStores(2) { stores async throws in
      let claimants = [UniqueID.random(), UniqueID.random()]
      #expect(try await stores[0].claimArchiving(by: claimants[0], for: .seconds(600)))
      #expect(try await !stores[1].claimArchiving(by: claimants[1], for: .seconds(600)))
      #expect(try await stores[0].claimArchiving(by: claimants[0], for: .zero))
      #expect(try await stores[1].claimArchiving(by: claimants[1], for: .seconds(600)))
      #expect(try await !stores[0].claimArchiving(by: claimants[0], for: .seconds(600)))
    }
  }

  /// It was away for longer than its claim lasted, and what it would drop may be in another one's file.
  @Test func whoLostItsClaimDropsNothing() async throws {
    try await withStores(2) { stores async throws in
      try await stores[0].commit(events: (0..<5).map { .sample(profile: "\($0)") })
      let third = try await stores[0].events()[2]
      let claimants = [UniqueID.random(), UniqueID.random()]
      let archived = claimants.map { claimant in
        ArchivedEvents(
          start: .genesis, end: EventChain.Head(sequence: 3, hash: third.hash), unerasedThrough: 5, claimant: claimant)
      }
      #expect(try await stores[0].claimArchiving(by: claimants[0], for: .zero))
      #expect(try await stores[1].claimArchiving(by: claimants[1], for: .seconds(600)))
      let late = await withCheckedContinuation { continuation in
        stores[0].drop(archived[0]) { continuation.resume(returning: $0) }
      }
      #expect(throws: StoreError(code: .conflict, message: "the audit log is not as it was archived")) {
        try late.get()
      }
      #expect(try await stores[0].eventChainStart() == .genesis)
      try await stores[1].drop(archived[1])
      #expect(try await stores[0].eventChainStart().sequence == 3)
    }
  }

  @Test func theRestOfAnArchivedLogIsVerifiedFromWhereItBegins() async throws {
    try await withStores(2) { uri, stores in
      for number in 0..<6 { try await stores[number % 2].commit(events: [.sample(profile: "\(number)")]) }
      try await stores[0].dropEvents(through: 3)
      var verification = try await PostgresAuditLog.verify(uri: uri, options: .small)
      #expect(verification.fault == nil)
      #expect(verification.start.sequence == 3)
      #expect(verification.verifiedCount == 4)
      try PostgresServer.shared.get().execute("UPDATE event_archive SET sequence = 2", at: uri)
      verification = try await PostgresAuditLog.verify(uri: uri, options: .small)
      #expect(verification.fault == .altered(sequence: 3))
    }
  }

  /// As carefully as archiving would have done it, but for its event.
  @Test(arguments: [0, 3] as [UInt64])
  func aBeginningThatNobodyArchivedIsMissed(_ archived: UInt64) async throws {
    try await withMigratedDatabase { uri in
      try await withStores(1, at: uri) { stores in
        try await stores[0].commit(events: (0..<10).map { .sample(profile: "\($0)") })
        #expect(try await stores[0].events().count == 10)
        if archived > 0 { try await stores[0].dropEvents(through: archived) }
      }
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).fault == nil)
      try PostgresServer.shared.get().execute(
        "UPDATE event_archive SET sequence = 6, hash = (SELECT hash FROM events WHERE sequence = 6); "
          + "DELETE FROM events WHERE sequence <= 6", at: uri)
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).fault == .dropped(through: 6))
      let refused = await #expect(throws: StoreOpenError.self) { try await withStores(1, at: uri) { _ in } }
      #expect(refused?.code == .corrupt)
      #expect(refused?.message.contains("no event says that they were archived") == true)
    }
  }
}
