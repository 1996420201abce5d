// The duties of every store, as checks that any store's tests run against a fresh, empty one.
//
//     @Test(arguments: StoreConformance.checks)
//     func conforms(_ check: StoreConformance.Check) async throws {
//       try await check.run(openEmptyStore())
//     }
//
// Where several processes can have one database, run the `sharedChecks` on two stores as well, and each of the
// `parallelChecks` in two processes, with their participants dealt to both.

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

  /// A check in which one process changes records, and another one finds the changes.
  public struct SharedCheck: Sendable, CustomTestStringConvertible {
    public let name: String
    /// Needs stores that share one empty database, which nothing else uses.
    public let run: @Sendable ([any Store]) async throws -> Void

    public var testDescription: String { name }
  }

  public static let sharedChecks =
    sharedLogChecks + sharedRetentionChecks + parallelChecks.map { SharedCheck(name: $0.name, run: $0.run) }

  public static let checks =
    recordChecks + profileChecks + compareAndSetChecks + bindingChecks + eventChecks + retentionChecks + erasureChecks
    + lifecycleChecks + signingChecks
    + sizeChecks
    + sharedChecks.map { check in
      Check(name: check.name) { store in try await check.run([store]) }
    }
}
