import CSQLite
import Glibc
import StoreConformance
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// The store opens the directory that it is given, or refuses it. A refusal changes nothing there.
struct OpeningTests {
  @Test func aNewStoreIsReadableByItsOwnerAlone() async throws {
    try await withTemporaryDirectory { parent in
      let directory = "\(parent)/data"
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: [.sample()])
      #expect(try File.mode(directory) == 0o700)
      let names = try File.names(in: directory)
      #expect(names == ["touchstone.db", "touchstone.db-shm", "touchstone.db-wal", "touchstone.lock"])
      for name in names { #expect(try File.mode("\(directory)/\(name)") == 0o600) }
      await store.close()
    }
  }

  @Test func aSecondStoreIsLockedOutUntilTheFirstIsClosed() async throws {
    try await withTemporaryDirectory { directory in
      let first = try SQLiteStore.open(directory: directory)
      #expect(openingError(directory)?.code == .locked)
      await first.close()
      let second = try SQLiteStore.open(directory: directory)
      await second.close()
    }
  }

  @Test func aPlaceThatCannotBeWrittenIsUnwritable() async throws {
    try await withTemporaryDirectory { parent in
      try File.write([], to: "\(parent)/file")
      for path in ["\(parent)/missing/data", "\(parent)/file", "\(parent)/file/data", "/proc/touchstone"] {
        #expect(openingError(path)?.code == .unwritable, "\(path)")
      }
    }
  }

  /// A sticky bit does not keep other users from putting a write-ahead log beside the database.
  @Test(
    arguments: [
      ("", 0o777), ("", 0o1777), ("", 0o770), ("", 0o707), ("/touchstone.db", 0o666), ("/touchstone.db", 0o660),
      ("/touchstone.lock", 0o602),
    ] as [(String, mode_t)])
  func whatOthersCanChangeIsNotServed(_ name: String, mode: mode_t) async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let before = try File.read("\(directory)/touchstone.db")
      let path = directory + name
      #expect(chmod(path, mode) == 0)
      let error = openingError(directory)
      #expect(error?.code == .unprotected)
      #expect(error?.message.hasPrefix("\(path): mode 0") == true)
      #expect(error?.message.hasSuffix("run `chmod go-w \(path)`") == true)
      #expect(try File.read("\(directory)/touchstone.db") == before)
      // Follows the message's advice.
      #expect(chmod(path, mode & ~0o022) == 0)
      try await SQLiteStore.open(directory: directory).close()
    }
  }

  /// The superuser may write wherever it likes.
  @Test(.enabled(if: geteuid() != 0), arguments: [("", 0o500), ("/touchstone.db", 0o400)] as [(String, mode_t)])
  func whatIsReadOnlyIsUnwritable(_ name: String, mode: mode_t) async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let before = try File.read("\(directory)/touchstone.db")
      chmod("\(directory)\(name)", mode)
      defer { chmod("\(directory)\(name)", 0o700) }
      #expect(openingError(directory)?.code == .unwritable)
      #expect(try File.read("\(directory)/touchstone.db") == before)
    }
  }

  private static func page(_ number: Int) -> Range<Int> {
    number * DatabaseFile.pageSize..<(number + 1) * DatabaseFile.pageSize
  }

  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: StoreOpenError.Code
    /// A part of the message.
    let finding: String
    let make: @Sendable (inout [UInt8]) -> Void

    init(
      _ description: String, _ code: StoreOpenError.Code, _ finding: String,
      _ make: @escaping @Sendable (inout [UInt8]) -> Void
    ) {
      testDescription = description
      self.code = code
      self.finding = finding
      self.make = make
    }
  }

  @Test(arguments: [
    Damage("an empty file", .corrupt, "not a database") { $0 = [] },
    Damage("a text", .corrupt, "not a database") { $0 = Array("#!/bin/sh\n".utf8) },
    Damage("noise", .corrupt, "not a database") { bytes in
      bytes = bytes.indices.map { UInt8(truncatingIfNeeded: $0 &* 251) }
    },
    Damage("the header alone", .corrupt, "malformed") { $0.removeLast($0.count - 100) },
    Damage("its end cut off", .corrupt, "malformed") { $0.removeLast(4_096) },
    Damage("half of it", .corrupt, "malformed") { $0.removeLast($0.count / 2) },
    Damage("a page zeroed", .corrupt, "") { bytes in
      for index in Self.page(1) { bytes[index] = 0 }
    },
    Damage("a page of noise", .corrupt, "") { bytes in
      for index in Self.page(3) { bytes[index] ^= 0x5A }
    },
    Damage("another application's", .corrupt, "another application") { $0[68] = 1 },
    Damage("nobody's", .corrupt, "another application") { $0.replaceSubrange(68..<72, with: [0, 0, 0, 0]) },
    Damage("a newer version's", .otherSchema, "the version of Touchstone that made it") { $0[63] += 1 },
    Damage("no version's", .otherSchema, "the version of Touchstone that made it") { $0[63] = 0 },
  ])
  func whatIsNotOursIsRefusedAndLeftAsItIs(_ damage: Damage) async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/touchstone.db"
      try await fill(directory)
      var bytes = try File.read(path)
      damage.make(&bytes)
      try File.write(bytes, to: path)

      let error = try #require(openingError(directory))
      #expect(error.code == damage.code)
      #expect(error.message.contains(damage.finding))
      #expect(error.message.hasPrefix(path))
      #expect(try File.read(path) == bytes)
    }
  }

  @Test func tablesThatWereTamperedWithAreRefused() async throws {
    try await withTemporaryDirectory { directory in
      try await fill(directory)
      try execute("DROP INDEX active_binding_of_device", on: directory)
      #expect(openingError(directory)?.code == .corrupt)
    }
  }

  /// R41
  @Test(arguments: [
    "DELETE FROM events WHERE sequence = (SELECT max(sequence) FROM events)",
    "UPDATE events SET profile_id = 'mallory' WHERE sequence = (SELECT max(sequence) FROM events)",
    "DELETE FROM events", "UPDATE event_chain SET sequence = sequence + 1",
    "UPDATE events SET caller = 'mallory' WHERE sequence = 1", "UPDATE events SET details = x'ff' WHERE sequence = 20",
    "DELETE FROM events WHERE sequence = 20",
  ])
  func anAuditLogThatIsNotAsItWasWrittenIsRefusedAndLeftAsItIs(_ tampering: String) async throws {
    try await withTemporaryDirectory { directory in
      try await fill(directory)
      try execute(tampering, on: directory)
      let before = try File.read("\(directory)/touchstone.db")
      let error = openingError(directory)
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("the audit log is not as it was written: event") == true)
      #expect(try File.read("\(directory)/touchstone.db") == before)
    }
  }

  @Test func whatACrashLeftOfMakingADatabaseIsMadeAnew() async throws {
    try await withTemporaryDirectory { directory in
      try File.write(Array("half".utf8), to: "\(directory)/touchstone.db.new")
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(.putDevice(.sample("phone-1", failures: 1)))
      await store.close()
      #expect(try File.names(in: directory) == ["touchstone.db", "touchstone.lock"])
    }
  }

  /// Without a checkpoint, all that was ever committed may stand in the log alone.
  @Test func aLogWithoutItsDatabaseIsRefusedAndLeftAsItIs() async throws {
    try await withTemporaryDirectory { directory in
      let log = "\(directory)/touchstone.db-wal"
      try File.write([1, 2, 3], to: log)
      let error = try #require(openingError(directory))
      #expect(error.code == .corrupt)
      #expect(error.message.hasPrefix(log))
      #expect(error.message.contains("\(directory)/touchstone.db is missing"))
      #expect(try File.read(log) == [1, 2, 3])
      #expect(try File.names(in: directory) == ["touchstone.db-wal", "touchstone.lock"])

      try File.write([], to: log)
      try await SQLiteStore.open(directory: directory).close()
    }
  }

  /// A store with some of everything, closed.
  private func fill(_ directory: String) async throws {
    let store = try SQLiteStore.open(directory: directory)
    for number in 0..<50 {
      try await store.commit(
        .putBinding(.sample("b-\(number)")), .putDevice(.sample("phone-\(number)", failures: 1)), events: [.sample()])
    }
    await store.close()
  }

  private func openingError(_ directory: String) -> StoreOpenError? {
    do throws(StoreOpenError) {
      _ = try SQLiteStore.open(directory: directory)
      return nil
    } catch {
      return error
    }
  }

  private func execute(_ sql: String, on directory: String) throws {
    try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite).execute(sql)
  }
}
