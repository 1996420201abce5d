import StoreConformance
import Testing

/// The store that these tests run on is held to what every store must do.
struct MemoryStoreTests {
  /// All but what a store of many rows does: it sweeps in steps, and forgets stand-ins.
  static let checks = StoreConformance.checks.filter { !$0.name.contains("step") && !$0.name.contains("forgotten") }

  @Test(arguments: checks)
  func conforms(_ check: StoreConformance.Check) async throws {
    try await check.run(MemoryStore())
    try await check.run(MemoryStore(delivery: .later))
  }
}
