import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// Which servers the store takes.
struct ServerInspectionTests {
  @Test(arguments: [
    "PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
    "PostgreSQL 17.2 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit",
  ])
  func postgreSQLIsTaken(_ version: String) {
    #expect(ServerInspection.otherEngine(version: version) == nil)
  }

  @Test(arguments: [
    "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103",
    "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)",
    "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit",
    "PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566) on x86_64-pc-linux-gnu, compiled by gcc",
    "", "MySQL 8",
  ])
  func othersAreNamed(_ version: String) {
    #expect(ServerInspection.otherEngine(version: version) != nil)
  }

  /// A function that hides `version()` plays the engine.
  @Test(arguments: [
    ("CREATE FUNCTION version() RETURNS TEXT LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v24.1.0' $$", "CockroachDB"),
    ("CREATE FUNCTION version() RETURNS TEXT LANGUAGE sql AS $$ SELECT 'PostgreSQL 15.2-YB-2.25' $$", "YugabyteDB"),
  ])
  func anotherEngineIsRefusedAtTheStart(_ function: String, _ engine: String) async throws {
    try await withDatabase { uri in
      let server = try PostgresServer.shared.get()
      try server.execute(function, at: uri)
      // The schema's function comes before the server's.
      let other = uri + "%2Cpg_catalog"
      let error = await #expect(throws: StoreOpenError.self) {
        _ = try await PostgresStore.open(uri: other, options: .small)
      }
      #expect(error?.message == StoreOpenError.otherEngine(engine).message)
    }
  }

  @Test func theTestsServerIsPlainAndItsSessionsAreOurs() async throws {
    try await withDatabase { uri in
      let inspection = try await ServerInspection.run(targets: try ConnectionTarget.prepared(uri), options: .small)
      #expect(inspection.hasTimelines)
    }
  }

  /// As behind a pooler that shares sessions: two that are one.
  @Test func whatAnotherSessionOverhearsWasNotToldToOneAlone() async throws {
    try await withDatabase { uri in
      let lane = ConnectionLane(
        .init(
          connections: 1, depth: 2, maximumWaiting: 2, timeout: .seconds(60), answerTimeout: .seconds(60),
          prepared: Statement.ofTransactions),
        targets: try ConnectionTarget.prepared(uri), options: .small)
      let isAlone = try await lane.withSession { session throws(PostgresError) in
        try await ServerInspection.isAlone(session, beside: lane)
      }
      #expect(!isAlone)
    }
  }
}
