import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

struct QueryPlanTests {
  /// However many there are: those are kept for good.
  @Test(arguments: [Statement.selectActiveBindings, .countActiveBindings])
  func whatAsksForActiveBindingsReadsNoRevokedOnes(_ statement: Statement) async throws {
    try await withDatabase { uri in
      let server = try PostgresServer.shared.get()
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      let parameters = ["'a'::BYTEA", "'p'::BYTEA", "''::BYTEA", "50"]
      let query = parameters.enumerated().reduce(statement.sql) {
        $0.replacing("$\($1.offset + 1)", with: $1.element)
      }
      let plan = try server.execute(
        """
        INSERT INTO bindings (
          binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys, is_revoked,
          device_lock_count, created_at, version)
        SELECT convert_to(n::TEXT, 'UTF8'), 'a', CASE WHEN n <= 2000 THEN 'p'::BYTEA ELSE convert_to(n::TEXT, 'UTF8') END,
          convert_to(n::TEXT, 'UTF8'), 'Phone', 1, '', n BETWEEN 3 AND 2000, 0, 1, 1
        FROM generate_series(1, 6000) n;
        ANALYZE bindings;
        EXPLAIN \(query)
        """, at: uri
      ).joined(separator: "\n")
      #expect(plan.contains("active_bindings_of_profile"), "\(plan)")
    }
  }

  /// However large the application is, and also by the plan that a connection keeps for all values, since a page looks
  /// at a bounded number of events.
  @Test(arguments: ["ARRAY[]::BYTEA[]", "ARRAY['missing'::BYTEA]"])
  func aPageOfAnApplicationIsReadByTheEventsNumbers(_ kinds: String) async throws {
    let plan = try await Self.keptPlan(
      of: .selectMatchingEvents, ("BYTEA", "'large'"), ("BIGINT", "15000"), ("BYTEA[]", kinds), ("BIGINT", "100"),
      ("BIGINT", "20000"), ("BYTEA", "'phone'"), ("BYTEA", "''"), ("BYTEA", "''"), ("BYTEA", "''"), ("BIGINT", "0"),
      ("BIGINT", "30000"))
    #expect(plan.contains("events_pkey"), "\(plan)")
    #expect(!plan.contains("events_of_profile") && !plan.contains("Seq Scan on events"), "\(plan)")
  }

  @Test func aTimesPlaceIsFoundByTheEventsNumbers() async throws {
    // The server plans the steps of a recursion when it comes to them.
    let plan = try await Self.keptPlan(
      of: .selectEventPlace, explaining: "UPDATE event_chain SET sequence = 30000; EXPLAIN (ANALYZE)",
      ("BIGINT", "15000"))
    #expect(plan.contains("events_pkey") && !plan.contains("Seq Scan on events"), "\(plan)")
  }

  /// However many an application has, and whatever a connection knew of them when it made its plan.
  @Test func profilesWhoseIdsBeginSoAreFoundInTheOrderOfTheirIndex() async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      let plan = try PostgresServer.shared.get().execute(
        """
        INSERT INTO profiles (
          application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled, incarnation, version)
        SELECT 'a', convert_to(n::TEXT, 'UTF8'), TRUE, TRUE, TRUE, n, 1 FROM generate_series(1, 20000) n;
        ANALYZE profiles;
        \(SessionSetup.plansByIndex); \(SessionSetup.plansByKey);
        PREPARE kept (BYTEA, BYTEA, BIGINT) AS \(Statement.selectProfileIDs.sql);
        EXPLAIN EXECUTE kept ('a', '15', 21)
        """, at: uri)
      #expect(plan.contains { $0.contains("profiles_pkey") }, "\(plan)")
      #expect(plan.contains { $0.contains("Index Cond") && $0.contains("profile_id >=") }, "\(plan)")
      #expect(!plan.contains { $0.contains("Sort") }, "\(plan)")
    }
  }

  @Test func aDropReadsTheErasuresAtTheLogsEndByTheirNumbers() async throws {
    let plan = try await Self.keptPlan(of: .selectLastEvents, ("BIGINT", "29990"), ("BYTEA", "'profile.erased'"))
    #expect(plan.contains("events_pkey") && !plan.contains("Seq Scan on events"), "\(plan)")
  }

  /// Also by a plan that was made while the tables were small, and that a connection keeps when they have grown:
  /// everything is looked up by its whole key.
  @Test(
    arguments: [
      (.attemptsOfBindings, (1...3).map { _ in "BYTEA[]" } + ["SMALLINT[]", "BIGINT[]", "BYTEA[]"]),
      (.subjectsOfBindings, (1...3).map { _ in "BYTEA[]" }),
      (.attemptOfBinding, ["BYTEA", "BYTEA", "SMALLINT", "BIGINT", "BYTEA"]), (.subjectOfBinding, ["BYTEA", "BYTEA"]),
      (
        .commitLogin,
        ["BYTEA", "BIGINT", "BIGINT", "BYTEA", "BIGINT", "BYTEA", "BYTEA", "BIGINT"]
          + ["SMALLINT", "BIGINT", "BYTEA", "BIGINT", "BIGINT", "BOOLEAN", "BIGINT", "BYTEA", "BIGINT"]
          + ["BYTEA", "BIGINT", "BYTEA", "SMALLINT", "BIGINT", "BYTEA", "BIGINT", "TIMESTAMPTZ"]
      ),
      (
        .commitTogether,
        ["BYTEA[]", "BIGINT[]", "BIGINT[]", "BYTEA[]", "BIGINT[]"] + (6...8).map { _ in "BYTEA[]" }
          + ["BIGINT[]", "BIGINT", "SMALLINT[]", "BIGINT[]", "BYTEA[]", "BIGINT[]", "BIGINT[]", "BOOLEAN[]"]
          + ["SMALLINT[]", "BIGINT[]", "BYTEA[]", "BIGINT[]", "BYTEA[]", "BIGINT[]", "BYTEA[]", "BIGINT[]"]
          + ["BYTEA[]", "BIGINT[]", "BYTEA[]"]
      ),
      (.withdrawEvaluations, ["SMALLINT[]", "BIGINT[]", "BYTEA[]"]),
    ] as [(Statement, [String])], ["", "ANALYZE;"])
  func theRecordsOfALoginAreFoundByTheirKeys(
    _ call: (statement: Statement, types: [String]), _ statistics: String
  ) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      let plan = try PostgresServer.shared.get().execute(
        """
        INSERT INTO bindings (
          binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys, is_revoked,
          device_lock_count, created_at, version)
        SELECT n, 'a', n, n, 'Phone', 1, '', FALSE, 0, 1, 1 FROM (
          SELECT convert_to(n::TEXT, 'UTF8') AS n FROM generate_series(1, 100) n) AS n;
        \(SessionSetup.plansByIndex); \(SessionSetup.plansByKey);
        \(statistics)
        PREPARE kept (\(call.types.joined(separator: ", "))) AS \(call.statement.sql);
        EXPLAIN EXECUTE kept (\(call.types.map { $0.hasSuffix("]") ? "'{}'" : "NULL" }.joined(separator: ", ")))
        """, at: uri)
      let scans = plan.filter { $0.contains("Scan using") }
      #expect(!scans.isEmpty && scans.allSatisfy { $0.contains("_pkey") }, "\(plan)")
      // Not by the application alone.
      let isByApplicationAlone = plan.contains { line in
        line.contains("Index Cond") && line.contains("application_id") && !line.contains("profile_id = ")
      }
      #expect(!isByApplicationAlone, "\(plan)")
      #expect(!plan.contains { $0.contains("Seq Scan") && !$0.contains("sweep_mark") }, "\(plan)")
    }
  }

  /// Whether the server planned for the values or for all, and whether it knew how many rows there are.
  @Test(arguments: ["force_custom_plan", "force_generic_plan"], ["", "ANALYZE;"])
  func aSweepFindsWhatItDeletesByKey(_ mode: String, _ statistics: String) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      let plan = try PostgresServer.shared.get().execute(
        """
        INSERT INTO evaluations (spread, expires_at, id, failures, device_owner_failures, is_finished, version)
        SELECT n % \(UniqueID.spreadCount), n, convert_to(n::TEXT, 'UTF8'), 0, 0, TRUE, 1 FROM generate_series(1, 20000) n;
        \(SessionSetup.plansByIndex);
        SET plan_cache_mode = \(mode);
        \(statistics)
        PREPARE kept (BIGINT, BIGINT) AS \(Statement.deleteExpiredRecords[0].sql);
        EXPLAIN EXECUTE kept (20000, 60);
        """, at: uri)
      #expect(!plan.contains { $0.contains("Seq Scan") || $0.contains("Join Filter") }, "\(plan)")
      #expect(plan.contains { $0.contains("Index Cond") && $0.contains("id = x.id") }, "\(plan)")
    }
  }

  /// In a log of 150 applications.
  private static func keptPlan(
    of statement: Statement, explaining explain: String = "EXPLAIN", _ parameters: (type: String, value: String)...
  ) async throws -> String {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      return try PostgresServer.shared.get().execute(
        """
        INSERT INTO events (
          sequence, hash, salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details)
        SELECT n, sha256(n::TEXT::BYTEA), '', n, 'kind',
          CASE WHEN n % 2 = 0 THEN 'large' ELSE convert_to((n % 300)::TEXT, 'UTF8') END,
          convert_to(n::TEXT, 'UTF8'), '', '', '', ''
        FROM generate_series(1, 30000) n;
        ANALYZE events;
        SET plan_cache_mode = force_generic_plan;
        PREPARE kept (\(parameters.map(\.type).joined(separator: ", "))) AS \(statement.sql);
        \(explain) EXECUTE kept (\(parameters.map(\.value).joined(separator: ", ")))
        """, at: uri
      ).joined(separator: "\n")
    }
  }
}
