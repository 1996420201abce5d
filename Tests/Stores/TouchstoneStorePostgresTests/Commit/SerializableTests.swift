import StoreConformance
import Testing

@testable import TouchstoneStorePostgres

/// A database that is SERIALIZABLE refuses one of two transactions (40001) wherever it cannot tell in which order
/// they were. Nobody notices, however many there are.
struct SerializableTests {
  @Test(arguments: StoreConformance.sharedChecks)
  func conformsAsTwoStores(_ check: StoreConformance.SharedCheck) async throws {
    try await withSerializableStores { stores in try await check.run(stores) }
  }

  private func withSerializableStores(_ body: ([PostgresStore]) async throws -> Void) async throws {
    try await withMigratedDatabase { uri in
      try await withStores(2, at: Self.uri(uri, isolation: "serializable"), body)
    }
  }

  @Test(arguments: [
    ("serializable", "serializable"), ("repeatable\\%20read", "read committed"),
    ("read\\%20uncommitted", "read committed"),
  ])
  func onlyWhatIsStrongerStays(_ setting: String, _ expected: String) async throws {
    try await withDatabase { uri in
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared(Self.uri(uri, isolation: setting)), options: .small,
        timeout: .seconds(60))
      let question = Statement(nil, "SELECT current_setting('transaction_isolation') = '\(expected)'")
      let isExpected = try await lane.run([StatementCall(question)]).first?.only { $0.boolean() }
      #expect(isExpected == true)
    }
  }

  /// The tests' URI ends with options that say which schema it is about.
  private static func uri(_ uri: String, isolation: String) -> String {
    "\(uri)%20-cdefault_transaction_isolation%3D\(isolation)"
  }
}
