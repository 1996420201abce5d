import PostgresServer
import StoreConformance
import Testing
import TouchstoneStore
import TouchstoneStorePostgres

/// What every store must do, PostgreSQL does; also as several processes on one database.
struct PostgresConformanceTests {
  @Test(arguments: StoreConformance.checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await withStores(1) { stores in try await check.run(stores[0]) }
  }

  @Test(arguments: StoreConformance.sharedChecks)
  func conformsAsTwoProcesses(_ check: StoreConformance.SharedCheck) async throws {
    try await withStores(2) { stores in try await check.run(stores) }
  }
}
