import StoreConformance
import Testing

@testable import TouchstoneStorePostgres

/// PostgreSQL does all that every store must do; also as several stores, and as several processes, on one database. Its
/// server logs no error for it.
struct PostgresConformanceTests {
  @Test(arguments: StoreConformance.checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await withStoresWithoutServerErrors(1, besides: Self.errors(of: check.name)) { stores in
      try await check.run(stores[0])
    }
  }

  @Test(arguments: StoreConformance.sharedChecks)
  func conformsAsTwoStores(_ check: StoreConformance.SharedCheck) async throws {
    try await withStoresWithoutServerErrors(2, besides: Self.errors(of: check.name)) { stores in
      try await check.run(stores)
    }
  }

  /// The verdict is a third one's.
  @Test(arguments: StoreConformance.parallelChecks)
  func conformsAsTwoProcesses(_ check: StoreConformance.ParallelCheck) async throws {
    try await withMigratedDatabase { uri in
      try await withStores(1, at: uri) { stores in
        try await check.prepare(stores[0])
        let processes = try (0..<2).map { try ParticipantProcess(check, number: $0, of: 2, at: uri) }
        for process in processes { try await process.isReady() }
        for process in processes { process.begin() }
        var outcomes: StoreConformance.ParallelCheck.Outcomes = [:]
        for process in processes { outcomes.merge(try await process.outcomes()) { said, _ in said } }
        try await check.conclude(outcomes, on: stores[0])
      }
      try expectNoServerErrors(at: uri, besides: Self.errors(of: check.name))
    }
  }

  /// A record that expired is written while a sweep goes over it (`Statement.finish`).
  private static func errors(of check: String) -> [String] {
    check.contains("swept at once") ? [SQLState.divisionByZero.rawValue] : []
  }
}
