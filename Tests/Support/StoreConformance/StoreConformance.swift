// What every store must do, as checks that any store's tests run against a fresh, empty one.
//
//     @Test(arguments: StoreConformance.checks)
//     func conforms(_ check: StoreConformance.Check) async throws {
//       try await check.run(openEmptyStore())
//     }

public import Testing
public import TouchstoneStore

public enum StoreConformance {
  public struct Check: Sendable, CustomTestStringConvertible {
    /// Reads as a sentence about the store.
    public let name: String
    /// Needs an empty store that nothing else uses. May close it.
    public let run: @Sendable (any Store) async throws -> Void

    public var testDescription: String { name }
  }

  public static let checks = recordChecks + compareAndSetChecks + bindingChecks + eventChecks + lifecycleChecks
}
