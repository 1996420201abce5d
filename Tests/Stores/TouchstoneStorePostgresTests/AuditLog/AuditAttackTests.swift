import Encodings
import TestSupport
import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// R41
struct AuditAttackTests {
  @Test(arguments: AuditAttack.all) func noContentGoesUnnoticedWithoutAnAuditKey(_ attack: AuditAttack) async throws {
    try await withMigratedDatabase { uri in
      try await attack(on: log(at: uri))
    }
  }

  /// One of two replicas has got its first audit key before the other.
  @Test func aReplicaWithoutAKeyLeavesNoAccountUnsignedOnceAnotherSigns() async throws {
    try await withStores(2) { stores in
      #expect(try await stores[0].signAccounts(with: .sample) == 1)
      await #expect(throws: StoreError.self) { try await stores[1].commit(.eraseProfile(.sample("alice"))) }
      // And with it, it does not begin again.
      #expect(try await stores[1].signAccounts(with: .sample) == nil)
      try await stores[1].commit(.eraseProfile(.sample("alice")))
      #expect(try await stores[0].events().map { $0.event?.kind } == ["log.signed", "profile.erased"])
    }
  }

  private func log(at uri: String) async throws -> AttackedLog {
    try await AttackedLog(
      open: { try await PostgresStore.open(uri: uri, options: .small) },
      execute: { try PostgresServer.shared.get().execute($0, at: uri) },
      literal: { "'\\x\(Hexadecimal.text($0))'::BYTEA" },
      verify: { try await PostgresAuditLog.verify(uri: uri, accounts: $0, options: .small) })
  }
}
