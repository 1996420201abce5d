import StoreConformance
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// A login that shares no transaction is committed by one statement (`Statement.commitLogin`).
struct LoginCommitTests {
  private static let clock = PostgresStoreOptions.small.clock

  private struct Login {
    var evaluation = EvaluationRecord(key: .sample(expiresAt: clock() + .seconds(120)), standing: .finished)

    /// With others instead of the changes about the same records.
    func changeSet(_ others: [Change] = []) -> ChangeSet {
      let changes: [Change] = [
        .putEvaluation(evaluation), .touchBinding(id: "b", version: 1, lastUsedAt: lastUse),
        .requireDevice(id: "phone", vendor: .everybody, version: 0),
        .requireProfile(applicationID: Sample.application, profileID: "alice", version: 1),
        .notePosture(bindingID: "b", .sample(seenAt: lastUse)),
      ]
      return ChangeSet(
        changes: changes.map { change in others.first { $0.isAboutTheRecord(of: change) } ?? change }
          + others.filter { other in !changes.contains { other.isAboutTheRecord(of: $0) } },
        events: [.sample("login")])
    }
  }

  private static let lastUse = Sample.now + .seconds(7)

  @Test func isOneStatement() async throws {
    try await withStores(1) { uri, stores in
      try await Self.bind(in: stores[0])
      let login = Login()
      try await stores[0].commit(login.changeSet())
      let records = try await Self.records(of: login, in: stores[0])
      #expect(records.evaluation?.standing == .finished)
      #expect(records.binding?.lastUsedAt == Self.lastUse)
      #expect(records.binding?.lastSeen == .sample(seenAt: Self.lastUse))
      #expect(try await stores[0].events().map(\.event?.kind) == ["login"])
      // The latest of its connection.
      let statements = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%INTO evaluations%INTO commit_marks%'"
      try await untilServer(at: uri, answers: "1", to: "\(statements) AND application_name = \(Self.name(in: uri))")
    }
  }

  @Test func raisesTheCounterOfItsKey() async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      try await Self.bind(in: stores[0])
      let raised = Change.raiseProofCounter(bindingID: "b", from: 0, to: 5)
      try await stores[0].commit(Login().changeSet([raised]))
      #expect(try await Self.records(of: Login(), in: stores[0]).binding?.proofCounter == 5)
      let code = await StoreConformance.errorCode { try await stores[0].commit(Login().changeSet([raised])) }
      #expect(code == .conflict)
    }
  }

  @Test(arguments: [
    Change.touchBinding(id: "b", version: 2, lastUsedAt: Sample.now),
    .requireDevice(id: "phone", vendor: .everybody, version: 1),
    .requireDevice(id: "known", vendor: .everybody, version: 0),
    .requireDevice(id: "known", vendor: .everybody, version: 2),
    .requireProfile(applicationID: Sample.application, profileID: "alice", version: 0),
    .requireProfile(applicationID: Sample.application, profileID: "alice", version: 2),
    .requireProfile(applicationID: Sample.application, profileID: "bob", version: 1),
    .raiseProofCounter(bindingID: "b", from: 1, to: 2),
  ])
  func leavesNothingIfAConditionFails(_ change: Change) async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      try await Self.bind(in: stores[0])
      try await stores[0].commit(.putDevice(.sample("known", failures: 1)))
      let login = Login()
      let code = await StoreConformance.errorCode { try await stores[0].commit(login.changeSet([change])) }
      #expect(code == .conflict)
      try await Self.expectNothing(of: login, in: stores[0])
    }
  }

  @Test(arguments: [
    Change.requireDevice(id: "known", vendor: .everybody, version: 1),
    .requireProfile(applicationID: Sample.application, profileID: "bob", version: 0),
  ])
  func succeedsIfTheRecordIsAsItWasRead(_ change: Change) async throws {
    try await withStoresWithoutServerErrors(1) { stores async throws in
      try await Self.bind(in: stores[0])
      try await stores[0].commit(.putDevice(.sample("known", failures: 1)))
      try await stores[0].commit(Login().changeSet([change]))
    }
  }

  @Test func anEvaluationIsFinishedOnce() async throws {
    try await withStoresWithoutServerErrors(2) { stores async throws in
      try await Self.bind(in: stores[0])
      let login = Login()
      try await stores[0].commit(.putEvaluation(login.evaluation))
      let code = await StoreConformance.errorCode { try await stores[1].commit(login.changeSet()) }
      #expect(code == .conflict)
      #expect(try await Self.records(of: login, in: stores[0]).binding?.lastUsedAt == nil)
      #expect(try await stores[0].events().isEmpty)
    }
  }

  /// Whichever comes first.
  @Test func ofManyAtOnceOneIsDone() async throws {
    try await withStoresWithoutServerErrors(4) { stores async throws in
      try await Self.bind(in: stores[0])
      let login = Login()
      let codes = await withTaskGroup { group in
        for store in stores {
          group.addTask { await StoreConformance.errorCode { try await store.commit(login.changeSet()) } }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes.count { $0 == nil } == 1 && codes.count { $0 == .conflict } == stores.count - 1)
      #expect(try await stores[0].events().count == 1)
    }
  }

  /// A sweep may have been there while the statement waited, because the evaluation expired long ago by the server's
  /// clock: the commit goes the way that sees each sweep.
  @Test(arguments: [(behind: 0, isSure: true), (behind: 50, isSure: true), (behind: 80, isSure: false)])
  func trustsNoClockThatIsFarBehind(_ clock: (behind: Int64, isSure: Bool)) async throws {
    var options = PostgresStoreOptions.small
    options.maximumClockDifference = .seconds(1_000)
    options.clock = { Self.clock() + .seconds(-clock.behind) }
    try await withStores(1, options: options) { uri, stores in
      try await Self.bind(in: stores[0])
      let key = ExpiringKey.sample(expiresAt: options.clock() + .seconds(60))
      let login = Login(evaluation: EvaluationRecord(key: key, standing: .finished))
      try await stores[0].commit(login.changeSet())
      #expect(try await Self.records(of: login, in: stores[0]).evaluation?.standing == .finished)
      let states = clock.isSure ? [] : [SQLState.divisionByZero.rawValue]
      try expectNoServerErrors(at: uri, besides: states)
      if !clock.isSure {
        let alone = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'WITH found AS (INSERT INTO commit_marks%'"
        try await untilServer(at: uri, answers: "1", to: "\(alone) AND application_name = \(Self.name(in: uri))")
      }
    }
  }

  // MARK: Records

  private static func bind(in store: PostgresStore) async throws {
    try await store.commit(
      .putBinding(.sample("b", profile: "alice", device: "phone")), .putProfile(.sample("alice")))
  }

  private static func records(of login: Login, in store: PostgresStore) async throws -> AttemptRecords {
    try await store.attemptRecords(
      for: .binding(applicationID: Sample.application, bindingID: "b"), evaluation: login.evaluation.key)
  }

  private static func expectNothing(of login: Login, in store: PostgresStore) async throws {
    let records = try await records(of: login, in: store)
    #expect(records.evaluation == nil && records.binding?.lastUsedAt == nil && records.binding?.proofCounter == 0)
    #expect(try await store.events().isEmpty)
  }

  /// The name of the test's connections, for SQL.
  private static func name(in uri: String) -> String {
    "'\(uri.firstMatch(of: /application_name=(\w+)/)?.output.1 ?? "")'"
  }
}

extension Change {
  /// Whether a login has one of the two.
  fileprivate func isAboutTheRecord(of other: Change) -> Bool {
    switch (self, other) {
    case (.touchBinding, .touchBinding), (.requireDevice, .requireDevice), (.requireProfile, .requireProfile): true
    default: false
    }
  }
}
