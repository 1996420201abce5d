import Glibc
import TestSupport
import StoreConformance
import Synchronization
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres
@testable import TouchstoneStoreSQLite

/// All data from SQLite is in PostgreSQL after a move: each record, the marks, the log.
struct MoveTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func everyRecordReadsTheSame(seed: UInt64) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store, seed: seed)
      _ = try await store.keyCheck(initially: [1, 2, 3])
      let events = try await store.events()
      await store.close()

      let source = try SQLiteMoveSource(directory: directory)
      let rows = try await rows(of: source)
      try await withDatabase { uri in
        let move = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        #expect(move.counts["profiles"].map { Int($0) } == rows.count { $0.table == .profiles })
        #expect(move.events.head == events.last.map { .init(sequence: $0.sequence, hash: $0.hash) })
        try await withStores(1, at: uri) { stores in
          let moved = stores[0]
          for row in rows { try await check(row, in: moved) }
          #expect(try await moved.events() == events)
          #expect(moved.lineage == store.lineage)
          #expect(try await moved.keyCheck(initially: [9]) == [1, 2, 3])
          try await checkMarks(of: moved, try source.marks())
          // It goes on: with numbers behind the last one.
          try await moved.commit(events: [.sample("later")])
          #expect(try await moved.eventChainHead().sequence == UInt64(events.count + 1))
        }
      }
    }
  }

  /// A developer who adds a table adds here how a move treats it.
  @Test func noTableIsForgotten() throws {
    let moved = Set(MovedTable.allCases.map(\.rawValue))
    let marks: Set = ["sweep_mark", "event_chain", "event_archive", "key_check", "lineage"]

    let connection = try SQLiteConnection(path: ":memory:", access: .create)
    try TouchstoneStoreSQLite.Schema.create(on: connection)
    // When bindings were used and how their devices were seen is read with them, and erasure marks with profiles.
    // Blocks of events repeat names of the events. The files of backups are no part of the other store.
    let ofSQLite = moved.union(marks).union([
      "binding_uses", "binding_postures", "erasure_marks", "event_blocks", "backups",
    ])
    #expect(Set(try TouchstoneStoreSQLite.Schema.tableNames(on: connection)) == ofSQLite)

    let statements = TouchstoneStorePostgres.Schema.creation
    let ofPostgres = statements.compactMap { statement -> String? in
      let words = statement.split { $0 == " " || $0 == "\n" }
      return words.starts(with: ["CREATE", "TABLE"]) ? String(words[2]) : nil
    }
    // Nothing of a stopped service is unsealed, or in doubt.
    let own: Set = ["unsealed_events", "commit_marks", "touchstone_schema", "schema_changes"]
    #expect(Set(ofPostgres) == moved.union(marks).union(own))
  }

  @Test func aSecondMoveOfTheSameIsTheFirstOne() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store, seed: 4)
      await store.close()
      let source = try SQLiteMoveSource(directory: directory)
      try await withDatabase { uri in
        let first = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        let second = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        #expect(second == first)
      }
    }
  }

  /// It has no record yet, but its keys and its lineage.
  @Test func nothingIsMovedIntoTheDatabaseOfAServiceThatWasBegun() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let source = try SQLiteMoveSource(directory: directory)
      try await withDatabase { uri in
        _ = try await PostgresMigration.run(uri: uri, options: .small)
        try await withStores(1, at: uri) { stores in
          _ = try await stores[0].keyCheck(initially: [1])
          let error = await #expect(throws: StoreOpenError.self) {
            _ = try await PostgresMove.fill(uri: uri, from: source, options: .small)
          }
          #expect(error?.code == .unwritable)
          #expect(try await stores[0].keyCheck(initially: [2]) == [1])
        }
      }
    }
  }

  /// A part of the rows could be served beside the directory that was to be moved.
  @Test func aMoveThatFailsLeavesNothing() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store, seed: 6)
      await store.close()
      try await withDatabase { uri in
        let source = WatchedSource(try SQLiteMoveSource(directory: directory), failingAt: .events)
        let error = await #expect(throws: StoreOpenError.self) {
          _ = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        }
        #expect(error?.message == WatchedSource.failure.message)
        let left = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: .small)
        #expect(try await left.state() == .empty)
        #expect(try source.target() == nil)
      }
    }
  }

  @Test func aServiceThatStartsWhileADatabaseIsFilledIsRefused() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store, seed: 5)
      await store.close()
      try await withDatabase { uri in
        let refusals = Mutex<[StoreOpenError.Code?]>([])
        let source = WatchedSource(try SQLiteMoveSource(directory: directory)) {
          let error = await #expect(throws: StoreOpenError.self) {
            try await PostgresStore.open(uri: uri, options: .small)
          }
          refusals.withLock { $0.append(error?.code) }
        }
        _ = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        #expect(refusals.withLock { $0 } == MovedTable.allCases.map { _ in .otherSchema })
        try await withStores(1, at: uri) { stores in try await stores[0].probe() }
      }
    }
  }

  /// Both could be served: the first one may have been filled, which the source did not learn.
  @Test func aMoveThatBeganElsewhereGoesNowhereElse() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let source = try SQLiteMoveSource(directory: directory)
      try source.markBeingMoved(to: MoveTarget(mark: .random(), place: "db.example/other"))
      try await withDatabase { uri in
        let error = await #expect(throws: StoreOpenError.self) {
          _ = try await PostgresMove.fill(uri: uri, from: source, options: .small)
        }
        #expect(error?.message.contains("--to db.example/other") == true)
        let target = DatabaseInspection(targets: try ConnectionTarget.prepared(uri), options: .small)
        #expect(try await target.state() == .empty)
      }
    }
  }

  @Test func aDatabaseHasOneMarkAndNoOthers() async throws {
    func mark(_ uri: String, ofPlace place: String? = nil) async throws -> UniqueID {
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared(uri), options: .small, timeout: .seconds(60))
      return try await lane.withSession { session throws(PostgresError) in
        try await DatabaseInspection.mark(in: session, ofPlace: place)
      }
    }
    try await withDatabase { uri in
      let first = try await mark(uri)
      #expect(try await mark(uri) == first)
      #expect(try await withDatabase { other in try await mark(other) } != first)
      // A server that does not show its cluster's name.
      #expect(try await mark(uri, ofPlace: "db.example/shop") == mark(uri, ofPlace: "db.example/shop"))
      #expect(try await mark(uri, ofPlace: "db.example/shop") != mark(uri, ofPlace: "db.example/other"))
    }
  }

  // MARK: Reading

  private func rows(of source: SQLiteMoveSource) async throws -> [MovedRow] {
    var rows: [MovedRow] = []
    for table in MovedTable.allCases {
      // In as small steps as there are.
      try await source.forEachBatch(of: table, limit: 1) { batch in rows += batch }
    }
    let counts = try source.counts()
    for table in MovedTable.allCases {
      #expect(counts[table] ?? 0 > 0, "\(table) is not tested")
      #expect(rows.count { $0.table == table } == counts[table].map { Int($0) })
    }
    expectSomeOfEverything(in: rows)
    return rows
  }

  /// A record type with no example would pass even if the move forgot it.
  private func expectSomeOfEverything(in rows: [MovedRow]) {
    var bindings: [BindingRecord] = []
    var devices: [DeviceRecord] = []
    for row in rows {
      if case .binding(let binding) = row { bindings.append(binding) }
      if case .device(let device) = row { devices.append(device) }
    }
    #expect(bindings.contains { $0.lastSeen?.isProven == true } && bindings.contains { $0.lastSeen == nil })
    #expect(bindings.contains { $0.deviceLockCount > 0 } && bindings.contains { $0.platformFamily == .android })
    #expect(bindings.contains { $0.proofCounter > 0 } && bindings.contains { $0.appAttest != nil })
    #expect(bindings.contains(where: \.isRevoked) && bindings.contains { $0.lastUsedAt != nil })
    #expect(devices.contains { $0.lockCount > 0 } && devices.contains { $0.biometry.consecutiveFailures > 0 })
  }

  private func check(_ row: MovedRow, in store: PostgresStore) async throws {
    switch row {
    case .binding(let binding):
      let subject = AttemptSubject.binding(applicationID: binding.applicationID, bindingID: binding.bindingID)
      #expect(try await store.attemptRecords(for: subject, evaluation: nil).binding == binding)
    case .receipt(let bindingID, let receipt):
      #expect(try await store.receipt(ofBinding: bindingID) == receipt)
    case .device(let device):
      #expect(try await store.device(id: device.deviceID, vendor: device.vendor) == device)
    case .profile(let profile):
      let subject = AttemptSubject.profile(applicationID: profile.applicationID, profileID: profile.profileID)
      #expect(try await store.attemptRecords(for: subject, evaluation: nil).profile == profile)
    case .evaluation(let evaluation):
      let subject = AttemptSubject.profile(applicationID: Sample.application, profileID: "nobody")
      let found = try await store.attemptRecords(for: subject, evaluation: evaluation.key).evaluation
      #expect(found == evaluation)
    case .token(let token):
      #expect(try await store.token(token.key) == token)
    case .usedTicket(let key):
      let found = try await store.enrolmentRecords(profileID: "nobody", deviceID: "none", ticket: key)
      #expect(found.isTicketUsed)
    case .event:
      break
    }
  }

  private func checkMarks(of store: PostgresStore, _ marks: MovedMarks) async throws {
    let swept = ExpiringKey(expiresAt: marks.sweptBefore + .microseconds(-1), id: .random())
    #expect(try await store.token(swept)?.state == .revoked)
    let kept = ExpiringKey(expiresAt: marks.sweptBefore, id: .random())
    #expect(try await store.token(kept) == nil)
    let mark = try await store.holderRecords(profileID: "erased for sure").erasureMark.version
    #expect(mark > 0)
    try await store.commit(.putProfile(.sample("erased for sure")))
    let subject = AttemptSubject.profile(applicationID: Sample.application, profileID: "erased for sure")
    #expect(try await store.attemptRecords(for: subject, evaluation: nil).profile.version == mark + 1)
  }

  // MARK: Filling

  /// Something of every kind, some of it changed, revoked, swept and erased again.
  private func fill(_ store: SQLiteStore, seed: UInt64) async throws {
    var chance = SeededGenerator(seed: seed)
    for number in 0..<40 {
      let profile = "profile-\(number)"
      let secrets: [SecretRecord?] = [
        nil, .sample(), .sample(lock: .until(Sample.now + .seconds(60))), .sample(lock: .untilSetAnew, isSet: false),
      ]
      try await store.commit(
        .putProfile(
          .sample(
            profile, settings: chance.pick([UnlockSettings(), .sample]), passcode: chance.pick(secrets),
            gesture: chance.pick(secrets))), events: [.sample("profile.made", profile: profile)])
      let credential: CredentialRecord = chance.pick([
        .hardwareKeys([.sample]), .hardwareKeys([.sample, .sample]),
        .profileTouchID(digest: [UInt8](repeating: UInt8(number), count: 32)),
      ])
      let binding = BindingRecord.sample("b-\(number)", profile: profile, credential: credential).with {
        if chance.next() % 2 == 0 { $0.baseline = nil }
        $0.deviceName = chance.pick(["", "Аня’s 📱", "phone"])
        $0.platformFamily = chance.pick([nil, .iOS, .android])
        $0.deviceLockCount = chance.next() % 3
        $0.lastSeen = chance.pick([nil, .sample(), .sample(isProven: true)])
        $0.proofCounter = chance.pick([0, 7])
        $0.appAttest = chance.pick([nil, .sample])
      }
      var device = DeviceRecord.sample("phone of b-\(number)", failures: UInt32(chance.next() % 7))
      device.lockCount = chance.next() % 3
      try await store.commit(
        .putBinding(binding), .putReceipt(bindingID: binding.bindingID, [UInt8(number)]), .putDevice(device),
        events: [.sample("binding.created", profile: profile, details: [])])
      if chance.next() % 3 == 0 { try await store.commit(.putBinding(binding.stored.revoked())) }
      if chance.next() % 4 == 0 {
        try await store.commit(.eraseProfile(.sample(profile)), events: [.sample(profile: "another")])
      }
      let key = ExpiringKey.sample(expiresAt: Sample.now + .seconds(Int64(chance.next() % 1_000)))
      try await store.commit(
        .putEvaluation(
          EvaluationRecord(key: key, standing: EvaluationStanding(failures: 2, isFinished: chance.next() % 2 == 0))),
        .putToken(
          TokenRecord(key: key, state: chance.pick([.issued, .consumed, .revoked]), transaction: [1], version: 0)),
        .useTicket(key))
    }
    try await store.commit(
      .touchBinding(id: "b-live", version: 1, lastUsedAt: Sample.now), after: .putBinding(.sample("b-live")))
    try await store.commit(
      .putDevice(DeviceRecord(deviceID: "Аня’s 📱", vendor: .named("acme"), biometry: .init(consecutiveFailures: 2))),
      .putDevice(DeviceRecord(deviceID: "Аня’s 📱", vendor: .application("acme"))))
    _ = try await store.sweep(before: Sample.now + .seconds(100))
    // The mark is above every version that it had.
    try await store.commit(.putProfile(.sample("erased for sure")), events: [.sample(profile: "erased for sure")])
    try await store.commit(.eraseProfile(.sample("erased for sure")))
  }
}

extension SQLiteStore {
  fileprivate func commit(_ change: Change, after first: Change) async throws {
    try await commit(first)
    try await commit(change)
  }
}

/// Calls a function before each table is read, and may fail at one of them.
private struct WatchedSource: MoveSource {
  static let failure = StoreOpenError(code: .corrupt, message: "unreadable")

  private let source: SQLiteMoveSource
  private let failingTable: MovedTable?
  private let begins: @Sendable () async -> Void

  init(
    _ source: SQLiteMoveSource, failingAt table: MovedTable? = nil, begins: @escaping @Sendable () async -> Void = {}
  ) {
    self.source = source
    self.failingTable = table
    self.begins = begins
  }

  func verifyLog() throws(StoreOpenError) -> AuditLogVerification { try source.verifyLog() }
  func marks() throws(StoreOpenError) -> MovedMarks { try source.marks() }
  func counts() throws(StoreOpenError) -> MovedCounts { try source.counts() }
  func forEachBatch(
    of table: MovedTable, limit: Int, _ body: ([MovedRow]) async throws(StoreOpenError) -> Void
  ) async throws(StoreOpenError) {
    await begins()
    try await source.forEachBatch(of: table, limit: limit, body)
    if table == failingTable { throw Self.failure }
  }
  func target() throws(StoreOpenError) -> MoveTarget? { try source.target() }
  func markBeingMoved(to target: MoveTarget) throws(StoreOpenError) { try source.markBeingMoved(to: target) }
  func markMoved() throws(StoreOpenError) { try source.markMoved() }
}

extension MovedRow {
  fileprivate var table: MovedTable {
    switch self {
    case .binding: .bindings
    case .receipt: .receipts
    case .device: .devices
    case .profile: .profiles
    case .evaluation: .evaluations
    case .token: .tokens
    case .usedTicket: .usedTickets
    case .event: .events
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int(next() % UInt64(values.count))]
  }
}
