import TestSupport
import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// Commits that wait at the same time share a transaction. Callers notice no difference but the time.
struct CommitBatchTests {
  private static let count = 300

  @Test func logins() async throws {
    try await withStores(1) { uri, stores in
      try await Self.bind(0..<Self.count, in: stores[0])
      let server = try PostgresServer.shared.get()
      let marks = "SELECT count(*) FROM commit_marks"
      let marksBefore = try #require(Int(server.execute(marks, at: uri)[0]))
      let changeSets = (0..<Self.count).map { Self.login($0) }
      let answers = await Self.commit(changeSets, to: stores[0])
      #expect(answers.allSatisfy { $0 == nil })
      // Each transaction leaves one.
      let marksAfter = try #require(Int(server.execute(marks, at: uri)[0]))
      #expect(marksAfter - marksBefore < Self.count / 2)
      try await Self.expect(changeSets, whereAnswered: answers, in: stores[0])
      let kinds = try await stores[0].events().compactMap(\.event?.kind)
      #expect(kinds.sorted() == (0..<Self.count).map { "login.\($0)" }.sorted())
    }
  }

  /// The others of its transaction are sent again.
  @Test func whoIsRefusedIsRefusedAlone() async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      try await Self.bind(0..<Self.count, in: stores[0])
      let stale: Set = [7, 100, 101, 250]
      let changeSets = (0..<Self.count).map { Self.login($0, version: stale.contains($0) ? 2 : 1) }
      let answers = await Self.commit(changeSets, to: stores[0])
      for (number, answer) in answers.enumerated() { #expect(answer == (stale.contains(number) ? .conflict : nil)) }
      try await Self.expect(changeSets, whereAnswered: answers, in: stores[0])
      #expect(try await stores[0].events().count == Self.count - stale.count)
    }
  }

  /// Each condition of a batch.
  @Test(arguments: [
    Change.requireDevice(id: "phone-1", vendor: .everybody, version: 0),
    .requireDevice(id: "phone-1", vendor: .everybody, version: 2),
    .requireDevice(id: "phone-2", vendor: .everybody, version: 1),
    .requireProfile(applicationID: Sample.application, profileID: "alice", version: 0),
    .requireProfile(applicationID: Sample.application, profileID: "alice", version: 2),
    .requireProfile(applicationID: Sample.application, profileID: "bob", version: 1),
    .touchBinding(id: "missing", version: 1, lastUsedAt: Sample.now),
    .raiseProofCounter(bindingID: "b-\(count / 2)", from: 1, to: 2),
  ])
  func aConditionThatFailsIsFound(_ change: Change) async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      try await Self.bind(0..<Self.count, in: stores[0])
      try await stores[0].commit(.putDevice(.sample("phone-1", failures: 1)), .putProfile(.sample("alice")))
      let failing = Self.count / 2
      let changeSets = (0..<Self.count).map { number in
        guard number == failing else { return Self.login(number) }
        var changes = [change]
        if case .raiseProofCounter(let id, _, _) = change {
          changes.insert(.touchBinding(id: id, version: 1, lastUsedAt: Sample.now), at: 0)
        }
        return ChangeSet(changes: changes, events: [.sample("failing")])
      }
      let answers = await Self.commit(changeSets, to: stores[0])
      for (number, answer) in answers.enumerated() { #expect(answer == (number == failing ? .conflict : nil)) }
    }
  }

  /// Twice at once: one of each pair.
  @Test func anEvaluationAndATokenAreWrittenOnce() async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      let evaluations = (0..<Self.count / 4).map { _ in EvaluationRecord(key: .sample(), standing: .finished) }
      let tokens = (0..<Self.count / 4).map { _ in
        TokenRecord(key: .sample(), state: .issued, transaction: [1], version: 0)
      }
      let once = evaluations.map { [Change.putEvaluation($0)] } + tokens.map { [Change.putToken($0)] }
      let answers = await Self.commit((once + once).map { ChangeSet(changes: $0) }, to: stores[0])
      for index in once.indices {
        #expect(Set([answers[index], answers[index + once.count]]) == [nil, .conflict])
      }
      for token in tokens { #expect(try await stores[0].token(token.key)?.transaction == [1]) }
    }
  }

  /// The batch gives up, its commits go by themselves, and one of them waits for the row.
  @Test func aRowThatIsHeldIsWaitedFor() async throws {
    try await withStores(1) { uri, stores in
      try await Self.bind(0..<Self.count, in: stores[0])
      let changeSets = (0..<Self.count).map { Self.login($0) }
      var answers: Task<[StoreError.Code?], Never>?
      try await withTransaction("SELECT * FROM bindings WHERE binding_id = 'b-99' FOR UPDATE", at: uri) {
        answers = Task { await Self.commit(changeSets, to: stores[0]) }
        // A commit of one binding has no limit to its wait, unlike those of a batch.
        let aloneWaits = """
          SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
          WHERE locktype = 'tuple' AND relation = 'bindings'::regclass AND query LIKE '%binding_id = $1 %'
          """
        try await untilServer(at: uri, answers: "1", to: aloneWaits)
      }
      let codes = try #require(await answers?.value)
      #expect(codes.allSatisfy { $0 == nil })
      try await Self.expect(changeSets, whereAnswered: codes, in: stores[0])
    }
  }

  /// More commits wait for it than there are connections. The calls' time is shorter than a test's patience, so that
  /// one that is delayed fails.
  @Test func aRowThatIsHeldDelaysNoOtherCommit() async throws {
    var options = PostgresStoreOptions.small
    options.callTimeout = .seconds(20)
    try await withStores(1, options: options) { uri, stores in
      try await Self.bind(0..<2, in: stores[0])
      var answers: Task<[StoreError.Code?], Never>?
      try await withTransaction("SELECT * FROM bindings WHERE binding_id = 'b-0' FOR UPDATE", at: uri) {
        answers = Task { await Self.commit((0..<12).map { _ in Self.login(0) }, to: stores[0]) }
        // One has the row's turn, and others wait for that turn.
        let waiting = """
          SELECT count(*) > 1 FROM pg_locks
          WHERE NOT granted AND locktype = 'tuple' AND relation = 'bindings'::regclass
          """
        try await untilServer(at: uri, answers: "t", to: waiting)
        for _ in 0..<20 { try await stores[0].commit(Self.login(1)) }
      }
      #expect(await answers?.value.allSatisfy { $0 == nil } == true)
    }
  }

  /// As BeginEvaluation's denials, of a phone that sends another posture each time (R37: an unknown binding has no row
  /// to wait for). The server ends a deadlock only after the calls' time, so that one shows.
  @Test func refusalsThatNoteOneBindingsPostureDoNotDeadlock() async throws {
    var options = PostgresStoreOptions.small
    options.callTimeout = .seconds(20)
    try await withMigratedDatabase { uri in
      try await withStores(1, at: "\(uri)%20-cdeadlock_timeout%3D30s", options: options) { stores in
        try await Self.bind(0..<1, in: stores[0])
        var answers: Task<[StoreError.Code?], Never>?
        try await withTransaction("SELECT * FROM bindings WHERE binding_id = 'b-0' FOR SHARE", at: uri) {
          answers = Task { await Self.commit((1...4).map { Self.refusal($0) }, to: stores[0]) }
          // For longer than a commit waits where it would delay others.
          let waiting = """
            SELECT count(DISTINCT pid) > 1 FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
            WHERE NOT waiting.granted AND waiting.waitstart < clock_timestamp() - INTERVAL '100 ms'
              AND held.granted AND held.relation = 'bindings'::regclass
            """
          try await untilServer(at: uri, answers: "t", to: waiting)
        }
        #expect(await answers?.value.allSatisfy { $0 == nil } == true)
      }
    }
  }

  private static func refusal(_ number: Int) -> ChangeSet {
    ChangeSet(
      changes: [
        .requireBinding(id: "b-0", version: 1), .notePosture(bindingID: "b-0", .sample(seenAt: lastUse(number))),
      ], events: [.sample("refusal.\(number)")])
  }

  /// Byte for byte, two ids are two, also where a `String` takes them for one.
  @Test func idsThatLookAlikeAreTold() async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      let composed = "caf\u{E9}"
      let decomposed = "cafe\u{301}"
      try await Self.bind(0..<Self.count, in: stores[0])
      for id in [composed, decomposed] {
        try await stores[0].commit(.putProfile(.sample(id)), .putDevice(.sample(id, failures: 1)))
      }
      // A change to the other one of each pair came in between.
      try await stores[0].commit(
        .putProfile(.sample(decomposed, version: 1)), .putDevice(.sample(decomposed, failures: 2, version: 1)))
      for require in [Self.requireProfile, Self.requireDevice] {
        let changeSets = (0..<Self.count).map { number in
          ChangeSet(changes: [require(number.isMultiple(of: 2) ? composed : decomposed)], events: [])
        }
        let answers = await Self.commit(changeSets, to: stores[0])
        for (number, answer) in answers.enumerated() {
          #expect(answer == (number.isMultiple(of: 2) ? nil : .conflict))
        }
      }
    }
  }

  private static func requireProfile(_ id: String) -> Change {
    .requireProfile(applicationID: Sample.application, profileID: id, version: 1)
  }

  private static func requireDevice(_ id: String) -> Change { .requireDevice(id: id, vendor: .everybody, version: 1) }

  // MARK: Logins

  private static func bind(_ numbers: Range<Int>, in store: PostgresStore) async throws {
    for number in numbers {
      var binding = BindingRecord.sample("b-\(number)", profile: "p-\(number)")
      binding.lastSeen = .sample()
      try await store.commit(.putBinding(binding), .putProfile(.sample("p-\(number)")))
    }
  }

  /// Every second one notes a posture, as the first login in an hour does, and every third one raises its binding's
  /// counter.
  private static func login(_ number: Int, version: RecordVersion = 1) -> ChangeSet {
    let id = "b-\(number)"
    return ChangeSet(
      changes: [
        .putEvaluation(EvaluationRecord(key: .sample(), standing: .finished)),
        .touchBinding(id: id, version: version, lastUsedAt: lastUse(number)),
        .requireDevice(id: "phone of \(id)", vendor: .everybody, version: 0),
        .requireProfile(applicationID: Sample.application, profileID: "p-\(number)", version: 1),
      ] + (number % 3 == 2 ? [.raiseProofCounter(bindingID: id, from: 0, to: counter(number))] : [])
        + (number.isMultiple(of: 2) ? [] : [.notePosture(bindingID: id, .sample(seenAt: lastUse(number)))]),
      events: [.sample("login.\(number)")])
  }

  private static func counter(_ number: Int) -> UInt32 { UInt32(number + 1) }

  private static func lastUse(_ number: Int) -> UnixTime { Sample.now + .seconds(Int64(number)) }

  /// All at once.
  private static func commit(_ changeSets: [ChangeSet], to store: PostgresStore) async -> [StoreError.Code?] {
    await withTaskGroup { group in
      let answers = changeSets.map { changeSet in
        let (answers, continuation) = AsyncStream<StoreError.Code?>.makeStream()
        store.commit(changeSet) { result in
          if case .failure(let error) = result { continuation.yield(error.code) } else { continuation.yield(nil) }
          continuation.finish()
        }
        return answers
      }
      for (index, answer) in answers.enumerated() {
        group.addTask { (index, await answer.first { _ in true } ?? .unavailable) }
      }
      var codes = [StoreError.Code?](repeating: .unavailable, count: changeSets.count)
      for await (index, code) in group { codes[index] = code }
      return codes
    }
  }

  /// Where a login was answered, everything of it is there, and otherwise nothing.
  private static func expect(
    _ changeSets: [ChangeSet], whereAnswered answers: [StoreError.Code?], in store: PostgresStore
  ) async throws {
    for (changeSet, answer) in zip(changeSets, answers) {
      guard case .putEvaluation(let evaluation) = changeSet.changes[0],
        case .touchBinding(let id, _, let time) = changeSet.changes[1]
      else { continue }
      var posture = SeenPosture.sample()
      if answer == nil, case .notePosture(_, let noted) = changeSet.changes.last { posture = noted }
      let records = try await store.attemptRecords(
        for: .binding(applicationID: Sample.application, bindingID: id), evaluation: evaluation.key)
      #expect((records.evaluation?.standing == .finished) == (answer == nil))
      #expect(records.binding?.lastUsedAt == (answer == nil ? time : nil))
      #expect(records.binding?.lastSeen == posture)
      let raised = changeSet.changes.compactMap { if case .raiseProofCounter(_, _, let to) = $0 { to } else { nil } }
      #expect(records.binding?.proofCounter == (answer == nil ? raised.first ?? 0 : 0))
    }
  }
}

extension EvaluationStanding {
  static let finished = EvaluationStanding(failures: 1, deviceOwnerFailures: 2, isFinished: true)
}
