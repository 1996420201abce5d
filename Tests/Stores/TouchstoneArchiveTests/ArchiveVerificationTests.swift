import Glibc
import StoreConformance
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

@testable import TouchstoneArchive

/// R41: archive and log are one chain, and whatever is altered, dropped, added or reordered in a file is found.
struct ArchiveVerificationTests {
  private static let firstFile = "events-000000000001-000000000004.jsonl"
  private static let secondFile = "events-000000000005-000000000008.jsonl"

  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The first file's lines: header, four events, trailer.
    let change: @Sendable (inout [String]) -> Void
    /// The text of the finding.
    let finding: String

    init(_ description: String, finding: String, _ change: @escaping @Sendable (inout [String]) -> Void) {
      testDescription = description
      self.finding = finding
      self.change = change
    }
  }

  static let tamperings = [
    Tampering("an altered content", finding: "event 2 was altered") { lines in
      lines[2].replace("alice", with: "mallory")
    },
    Tampering("an altered time", finding: "event 3 was altered") { $0[3].replace("1700000002", with: "1700000003") },
    Tampering("a dropped event", finding: "event 3 is missing") { $0.remove(at: 3) },
    Tampering("a dropped first event", finding: "event 1 is missing") { $0.remove(at: 1) },
    Tampering("a dropped last event", finding: "does not end as it says") { $0.remove(at: 4) },
    Tampering("reordered events", finding: "event 2 is missing") { $0.swapAt(2, 3) },
    Tampering("an event twice", finding: "event 2 is out of order") { $0.insert($0[2], at: 3) },
    Tampering("a content that is gone, by another digest", finding: "event 2 was altered") { lines in
      let hash = lines[2].suffix(66)
      let digest = String(repeating: "0", count: 64)
      lines[2] = "{\"sequence\":2,\"erased\":\"archive\",\"digest\":\"\(digest)\",\"hash\":\"\(hash)"
    },
    Tampering("no trailer", finding: "is cut off") { $0.removeLast() },
    Tampering("something behind the trailer", finding: "does not end as it says") { $0.append($0[5]) },
    Tampering("no header", finding: "has no header") { $0.removeFirst() },
    Tampering("not a line of ours", finding: "line 3 is not as it was written") { $0[2] = "{}" },
    Tampering("an empty file", finding: "has no header") { $0 = [] },
  ]

  @Test(arguments: tamperings) func tamperingIsFound(_ tampering: Tampering) async throws {
    try await withArchive { data, archive in
      let path = "\(archive)/\(Self.firstFile)"
      var lines = try File.text(path).split(separator: "\n").map(String.init)
      tampering.change(&lines)
      try File.write(lines.map { "\($0)\n" }.joined(), to: path)
      let log = try SQLiteAuditLog.verify(directory: data)
      let error = #expect(throws: ArchiveError.self) { try ArchiveVerification(directory: archive, before: log) }
      #expect(error?.code == .damaged)
      #expect(error?.message == "\(path): \(tampering.finding)")
    }
  }

  @Test func aFileThatIsMissingIsMissed() async throws {
    for (name, sequence) in [(Self.firstFile, 1), (Self.secondFile, 5)] as [(String, UInt64)] {
      try await withArchive { data, archive in
        File.removeTree("\(archive)/\(name)")
        let log = try SQLiteAuditLog.verify(directory: data)
        if name == Self.firstFile {
          let error = #expect(throws: ArchiveError.self) { try ArchiveVerification(directory: archive, before: log) }
          #expect(error?.message.hasSuffix("event 1 is missing") == true)
          // Removed on purpose.
          let rest = try ArchiveVerification(directory: archive, before: log, first: 5)
          #expect(rest.fault == nil)
          #expect(rest.verifiedCount == 4)
        } else {
          #expect(try ArchiveVerification(directory: archive, before: log).fault == .missing(sequence: sequence))
        }
      }
    }
  }

  @Test func filesOfWhatTheLogStillHasAndFilesTwiceDoNoHarm() async throws {
    try await withArchive { data, archive in
      try File.write("whatever", to: "\(archive)/events-000000000009-000000000010.jsonl")
      let log = try SQLiteAuditLog.verify(directory: data)
      let verification = try ArchiveVerification(directory: archive, before: log)
      #expect(verification.fault == nil)
      #expect(verification.verifiedCount == 8)
    }
  }

  /// As where a store was put back to an earlier time, and what was archived before is still there.
  @Test func ofTwoFilesWithTheSameEventsTheOneThatTheLogFollowsIsRead() async throws {
    try await withTemporaryDirectory { directory in
      let lost = "\(directory)/lost"
      let kept = "\(directory)/kept"
      let data = "\(directory)/data"
      for (archive, profile) in [(lost, "lost"), (kept, "kept")] {
        File.removeTree(data)
        let store = try SQLiteStore.open(directory: data)
        try await store.commit(events: (0..<10).map { .at($0 < 8 ? $0 : 200, profile: profile) })
        let archiver = EventArchiver(store: store, directory: archive, maximumEvents: archive == lost ? 8 : 4)
        while case .archived = try archiver.archive(before: Sample.now + .seconds(100)) {}
        await store.close()
      }
      // It comes behind the first of the log's own, and goes on otherwise.
      #expect(
        rename(
          "\(lost)/events-000000000001-000000000008.jsonl", "\(kept)/events-000000000001-000000000008.jsonl") == 0)
      let log = try SQLiteAuditLog.verify(directory: data)
      let verification = try ArchiveVerification(directory: kept, before: log)
      #expect(verification.fault == nil)
      #expect(verification.verifiedCount == 8)
    }
  }

  // MARK: Erasing

  @Test func anErasedProfileIsGoneFromTheFilesAndTheyStillVerify() async throws {
    try await withArchive { data, archive in
      var eraser = try ArchiveEraser(directory: archive, .erase(applicationID: Sample.application, profileID: "bob"))
      #expect(eraser.changedEventCount == 2)
      #expect(eraser.changedFileCount == 2)
      for name in try File.archiveNames(in: archive) {
        #expect(try !File.text("\(archive)/\(name)").contains("bob"))
        #expect(try File.mode("\(archive)/\(name)") == 0o600)
      }
      let log = try SQLiteAuditLog.verify(directory: data)
      let verification = try ArchiveVerification(directory: archive, before: log)
      #expect(verification.fault == nil)
      #expect(verification.erasedCount == 2)
      #expect(verification.erasedHereCount == 2)
      eraser = try ArchiveEraser(directory: archive, .erase(applicationID: Sample.application, profileID: "bob"))
      #expect(eraser.changedEventCount == 0)
      #expect(
        try ArchiveEraser(directory: archive, .erase(applicationID: "other", profileID: "alice"))
          .changedEventCount == 0)
    }
  }

  @Test func whatAKilledArchiverLeftIsGoneAfterAnErasureWhateverItsName() async throws {
    try await withArchive { _, archive in
      try File.write("of bob", to: "\(archive)/events-000000000009-000000000010.jsonl.new")
      _ = try ArchiveEraser(directory: archive, .erase(applicationID: Sample.application, profileID: "bob"))
      #expect(try File.archiveNames(in: archive) == [Self.firstFile, Self.secondFile])
    }
  }

  @Test(arguments: [false, true]) func whatIsNoFileIsNotRead(_ isLink: Bool) async throws {
    try await withArchive { data, archive in
      let path = "\(archive)/\(Self.firstFile)"
      #expect(rename(path, "\(archive)/elsewhere") == 0)
      #expect(isLink ? symlink("\(archive)/elsewhere", path) == 0 : mkfifo(path, 0o600) == 0)
      let log = try SQLiteAuditLog.verify(directory: data)
      #expect(throws: ArchiveError.self) { try ArchiveVerification(directory: archive, before: log) }
      #expect(throws: ArchiveError.self) {
        try ArchiveEraser(directory: archive, .erase(applicationID: Sample.application, profileID: "bob"))
      }
    }
  }

  @Test func aDamagedArchiveIsNotErasedIn() async throws {
    try await withArchive { _, archive in
      let path = "\(archive)/\(Self.firstFile)"
      let damaged = try File.text(path).replacing("alice", with: "mallory")
      try File.write(damaged, to: path)
      #expect(throws: ArchiveError.self) {
        try ArchiveEraser(directory: archive, .erase(applicationID: Sample.application, profileID: "bob"))
      }
      #expect(try File.text(path) == damaged)
    }
  }

  @Test func aDirectoryThatIsNotThereIsNotMade() async throws {
    try await withTemporaryDirectory { directory async throws in
      #expect(throws: ArchiveError.self) {
        try ArchiveEraser(directory: "\(directory)/none", .erase(applicationID: "a", profileID: "b"))
      }
      #expect(try File.archiveNames(in: directory) == [])
    }
  }

  /// Two files of four events, of which alice's and one of bob's each; two events more in the log.
  private func withArchive(_ body: (_ data: String, _ archive: String) async throws -> Void) async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<10).map { .at($0 < 8 ? $0 : 200, profile: $0 % 4 == 3 ? "bob" : "alice") })
      let archiver = EventArchiver(store: store, directory: archive, maximumEvents: 4)
      while case .archived = try archiver.archive(before: Sample.now + .seconds(100)) {}
      #expect(try File.archiveNames(in: archive) == [Self.firstFile, Self.secondFile])
      try await body(data, archive)
    }
  }
}
