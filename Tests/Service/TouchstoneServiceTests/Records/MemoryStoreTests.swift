import StoreConformance
import Testing

/// The store that these tests run on is held to what every store must do.
struct MemoryStoreTests {
  /// All but the sweeps in steps, which are for stores of many rows.
  static let checks = StoreConformance.checks.filter { !$0.name.contains("step") }

  @Test(arguments: checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await check.run(MemoryStore())
    try await check.run(MemoryStore(delivery: .later))
  }
}
