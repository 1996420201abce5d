import Testing

@testable import TouchstoneStorePostgres

/// The server's messages beside its answers.
struct WarningTests {
  /// - Parameter settings: further ones of the URI's options.
  private static func run(raising severity: String, settings: String = "") async throws {
    try await withDatabase { uri in
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared(uri + settings), options: .small, timeout: .seconds(60))
      let raise = Statement(nil, "DO $$ BEGIN RAISE \(severity); END $$")
      _ = try await lane.withSession { session throws(PostgresError) in try await session.run([StatementCall(raise)]) }
    }
  }

  /// As of a wait for a standby that an operator cancelled.
  ///
  /// - Parameter settings: an operator silences the server's notices, and with them its warnings.
  @Test(arguments: ["", "%20-cclient_min_messages%3Derror"])
  func whatEndsWithAWarningIsNotTakenForDurable(settings: String) async throws {
    let error = await #expect(throws: PostgresError.self) {
      try await Self.run(raising: "WARNING 'canceling wait'", settings: settings)
    }
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
