import Testing

@testable import TouchstoneStorePostgres

/// Which servers the store trusts with a shared fsync.
struct ServerInspectionTests {
  @Test(arguments: [
    "PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
    "PostgreSQL 17.2 on aarch64-unknown-linux-gnu, compiled by gcc, 64-bit",
  ])
  func postgreSQLHasOneLog(_ version: String) {
    #expect(ServerInspection.isPlain(version: version))
  }

  @Test(arguments: [
    "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)",
    "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit",
    "PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566) on x86_64-pc-linux-gnu, compiled by gcc",
    "", "MySQL 8",
  ])
  func othersMayHaveOneOnEachMachine(_ version: String) {
    #expect(!ServerInspection.isPlain(version: version))
  }

  @Test func theTestsServerIsPlainAndItsSessionsAreOurs() async throws {
    try await withDatabase { uri in
      let inspection = try await ServerInspection.run(targets: try ConnectionTarget.prepared(uri), options: .small)
      #expect(inspection.hasOneLog)
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
        targets: try ConnectionTarget.prepared(uri), backoff: PostgresStoreOptions.small.backoff)
      let isAlone = try await lane.withSession { session throws(PostgresError) in
        try await ServerInspection.isAlone(session, beside: lane)
      }
      #expect(!isAlone)
    }
  }
}
