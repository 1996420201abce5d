import Testing

@testable import TouchstoneStorePostgres

/// What the server says beside its answers.
struct WarningTests {
  private static func run(raising severity: String) async throws {
    try await withDatabase { uri in
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared(uri), options: .small, timeout: .seconds(60))
      let raise = Statement(nil, "DO $$ BEGIN RAISE \(severity); END $$")
      _ = try await lane.withSession { session throws(PostgresError) in try await session.run([StatementCall(raise)]) }
    }
  }

  /// As of a wait for a standby that somebody cancelled.
  @Test func whatEndsWithAWarningIsNotTakenForDurable() async throws {
    let error = await #expect(throws: PostgresError.self) { try await Self.run(raising: "WARNING 'canceling wait'") }
    guard case .lost(let message) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(message.contains("canceling wait"))
  }

  @Test(arguments: ["NOTICE 'by the way'", "WARNING 'no transaction' USING ERRCODE = '25P01'"])
  func otherWordsChangeNothing(_ severity: String) async throws {
    try await Self.run(raising: severity)
  }
}
