import StoreConformance
import Testing

/// The store that these tests run on is held to what every store must do.
struct MemoryStoreTests {
  /// All but what only the process asks for: the service never sweeps.
  static let checks = StoreConformance.checks.filter { !$0.name.contains("sweep") && !$0.name.contains("forgotten") }

  @Test(arguments: checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await check.run(MemoryStore())
    try await check.run(MemoryStore(delivery: .later))
  }
}
