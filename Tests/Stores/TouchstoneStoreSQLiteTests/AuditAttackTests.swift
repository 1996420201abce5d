import Encodings
import StoreConformance
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// R41
struct AuditAttackTests {
  @Test(arguments: AuditAttack.all) func noContentGoesUnnoticedWithoutAnAuditKey(_ attack: AuditAttack) async throws {
    try await withTemporaryDirectory { directory in
      try await attack(on: log(in: directory))
    }
  }

  /// A long log's latest part has no signature; one further back is found, so that it does not begin twice.
  @Test func aSignatureBeforeTheLatestPartIsFoundByAStart() async throws {
    try await withTemporaryDirectory { directory in
      let log = try await log(in: directory)
      try await log.store.commit(events: (0..<300).map { _ in .sample() })
      #expect(try await log.store.signAccounts(with: .sample) == 301)
      for _ in 0..<Int(EventLogReading.maximumEventsAtStart / 5_000) + 1 {
        try await log.store.commit(events: (0..<5_000).map { _ in .sample() })
      }
      try await log.restart()
      #expect(try await log.store.signAccounts(with: .sample) == nil)
      await log.store.close()
    }
  }

  private func log(in directory: String) async throws -> AttackedLog {
    try await AttackedLog(
      open: { try SQLiteStore.open(directory: directory) },
      execute: { try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite).execute($0) },
      literal: { "x'\(Hexadecimal.text($0))'" },
      verify: { try SQLiteAuditLog.verify(directory: directory, accounts: $0) })
  }
}
