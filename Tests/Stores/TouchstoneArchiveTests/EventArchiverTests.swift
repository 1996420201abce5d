import Glibc
import StoreConformance
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

@testable import TouchstoneArchive

/// Old events go into files, and the log and its files stay one chain, whatever comes in between.
struct EventArchiverTests {
  private static let cutoff = Sample.now + .seconds(100)

  @Test func oldEventsGoIntoAFileAndTheRestStays() async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<6).map { .at($0) } + (0..<4).map { .at(200 + $0) })
      let events = try await store.events()
      let outcome = try EventArchiver(store: store, directory: archive).archive(before: Self.cutoff)
      let path = "\(archive)/events-000000000001-000000000006.jsonl"
      #expect(outcome == .archived(file: path, first: 1, last: 6))
      #expect(try await store.events().dropLast() == events[6...])
      #expect(try File.archiveNames(in: archive) == ["events-000000000001-000000000006.jsonl"])
      #expect(try File.mode(path) == 0o600)
      #expect(try File.mode(archive) == 0o700)
      var archived: [EventRecord] = []
      _ = try ArchiveFile.read(ArchiveFile.open(path)) { event in archived.append(event.record) }
      #expect(archived == Array(events[..<6]))
      try expectWhole(data, archive, count: 11)
      #expect(try EventArchiver(store: store, directory: archive).archive(before: Self.cutoff) == .nothing)
    }
  }

  @Test func aLongLogGoesIntoFilesThatFollowOneAnother() async throws {
    try await withStore { store, data, archive in
      for _ in 0..<30 { try await store.commit(events: (0..<50).map { .at($0, profile: "\($0)") }) }
      try await store.commit(.eraseProfile(.sample("7")))
      let archiver = EventArchiver(store: store, directory: archive, maximumEvents: 400)
      var files: [String] = []
      while case .archived(let file, _, _) = try archiver.archive(before: Self.cutoff) { files.append(file) }
      #expect(files.count == 4)
      // For each file, the event that records it.
      #expect(try await store.events().count == 4)
      let verification = try expectWhole(data, archive, count: 1_505)
      #expect(verification.erasedCount == 30)
      #expect(verification.erasedHereCount == 0)
      while try await store.sweep(before: Sample.now).hasMore {}
      try expectWhole(data, archive, count: 1_505)
    }
  }

  @Test func anArchivingIsNotArchivedAloneInItsTurn() async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<6).map { .at($0) })
      let archiver = EventArchiver(store: store, directory: archive)
      // Beyond what is old now: the event of the archiving is old enough, too.
      let cutoff = UnixTime(microseconds: .max)
      guard case .archived = try archiver.archive(before: cutoff) else { return #expect(Bool(false)) }
      for _ in 0..<3 { #expect(try archiver.archive(before: cutoff) == .nothing) }
      try expectWhole(data, archive, count: 7)
    }
  }

  /// As one that is 100 days ahead for a minute: all of the log would be old.
  @Test func aClockThatIsAheadArchivesNothing() async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<6).map { .at($0) })
      _ = try await store.sweep(before: Sample.now + .seconds(10))
      let archiver = EventArchiver(store: store, directory: archive)
      let ahead = Sample.now + .seconds(100 * 86_400)
      let present = try archiver.presentTime(at: ahead)
      #expect(present == Sample.now + .seconds(10) + SweepClock.longestRestart)
      #expect(try archiver.archive(olderThan: .seconds(3_600), at: present) == .nothing)
      #expect(try await store.events().count == 6)
      // Once the services have swept so far, it is so late.
      _ = try await store.sweep(before: ahead)
      #expect(try archiver.presentTime(at: ahead) == ahead)
      guard case .archived = try archiver.archive(olderThan: .seconds(3_600), at: ahead) else {
        return #expect(Bool(false))
      }
      try expectWhole(data, archive, count: 7)
    }
  }

  /// Events that were logged while a clock was ahead keep no others in the log.
  @Test func eventsOfAClockThatWasAheadGoWithTheNext() async throws {
    try await withStore { store, data, archive in
      let far = 100 * 86_400
      try await store.commit(events: [.at(0), .at(far), .at(far + 1)] + (1..<6).map { .at($0) })
      let archiver = EventArchiver(store: store, directory: archive)
      guard case .archived(_, 1, 6) = try archiver.archive(olderThan: .seconds(10), at: Sample.now + .seconds(100))
      else {
        return #expect(Bool(false))
      }
      try expectWhole(data, archive, count: 9)
    }
  }

  // MARK: Cut short

  @Test func whatAKilledProcessLeftIsReplacedAndHoldsNothingThatWasErasedMeanwhile() async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<10).map { .at($0, profile: $0 == 3 ? "bob" : "alice") })
      let first = EventArchiver(store: store, directory: archive, maximumEvents: 5)
      _ = try first.archive(before: Sample.now)
      #expect(try File.archiveNames(in: archive) == [])
      let left = "\(archive)/events-000000000001-000000000004.jsonl"
      try Self.write(try await store.events().prefix(4), to: left)
      try File.write("half a li", to: "\(archive)/events-000000000001-000000000004.jsonl.new")
      try await store.commit(.eraseProfile(.sample("bob")))

      _ = try first.archive(before: Self.cutoff)
      #expect(try File.archiveNames(in: archive) == ["events-000000000001-000000000005.jsonl"])
      #expect(try !File.text("\(archive)/events-000000000001-000000000005.jsonl").contains("bob"))
      try expectWhole(data, archive, count: 12)
    }
  }

  @Test func aFileWhoseEventsWereOldEnoughOnceIsFinishedThoughTheyAreNot() async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<10).map { .at($0) })
      _ = try EventArchiver(store: store, directory: archive).archive(before: Sample.now)
      try Self.write(try await store.events().prefix(4), to: "\(archive)/events-000000000001-000000000004.jsonl")
      let outcome = try EventArchiver(store: store, directory: archive).archive(before: Sample.now)
      #expect(
        outcome == .archived(file: "\(archive)/events-000000000001-000000000004.jsonl", first: 1, last: 4))
      try expectWhole(data, archive, count: 11)
    }
  }

  @Test func aFileOfAnotherLogIsInTheWayAndNothingIsDone() async throws {
    try await withStore { store, _, archive in
      try await withStore { other, _, _ in
        try await other.commit(events: (0..<10).map { .at($0, profile: "other") })
        _ = try EventArchiver(store: other, directory: archive, maximumEvents: 5).archive(before: Self.cutoff)
      }
      try await store.commit(events: (0..<10).map { .at($0) })
      let error = #expect(throws: ArchiveError.self) {
        try EventArchiver(store: store, directory: archive).archive(before: Self.cutoff)
      }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("events-000000000001-000000000005.jsonl") == true)
      #expect(try await store.events().count == 10)
    }
  }

  @Test func filesOfALostLineOfHistoryAreInTheWayToo() async throws {
    try await withStore { store, _, archive in
      try await withStore { lost, _, _ in
        try await lost.commit(events: (0..<10).map { .at($0, profile: "lost") })
        let archiver = EventArchiver(store: lost, directory: archive, maximumEvents: 4)
        while case .archived = try archiver.archive(before: Self.cutoff) {}
        File.removeTree("\(archive)/events-000000000001-000000000004.jsonl")
      }
      try await store.commit(events: (0..<7).map { .at($0) })
      let error = #expect(throws: ArchiveError.self) {
        try EventArchiver(store: store, directory: archive).archive(before: Self.cutoff)
      }
      #expect(error?.message.contains("events-000000000005-000000000008.jsonl: holds events that the log") == true)
      #expect(error?.message.contains("put back to an earlier time; move it away") == true)
      #expect(try await store.events().count == 7)
    }
  }

  @Test func aDamagedFileInTheWayIsNamedWithWhatToDo() async throws {
    try await withStore { store, _, archive in
      try await store.commit(events: (0..<10).map { .at($0) })
      _ = try EventArchiver(store: store, directory: archive).archive(before: Sample.now)
      try File.write("half a line", to: "\(archive)/events-000000000001-000000000004.jsonl")
      let error = #expect(throws: ArchiveError.self) {
        try EventArchiver(store: store, directory: archive).archive(before: Self.cutoff)
      }
      #expect(error?.message.contains("events-000000000001-000000000004.jsonl") == true)
      #expect(error?.message.hasSuffix("were not dropped from the log: move it away") == true)
    }
  }

  @Test func whereEarlierFilesAreMissingNothingIsArchivedUnlessTold() async throws {
    try await withStore { store, _, archive in
      try await store.commit(events: (0..<10).map { .at($0) })
      _ = try EventArchiver(store: store, directory: archive, maximumEvents: 5).archive(before: Self.cutoff)
      File.removeTree("\(archive)/events-000000000001-000000000005.jsonl")
      let error = #expect(throws: ArchiveError.self) {
        try EventArchiver(store: store, directory: archive, maximumEvents: 3).archive(before: Self.cutoff)
      }
      #expect(error?.message.contains("no file in it ends with event 5") == true)
      #expect(try await store.events().count == 6)
      let told = EventArchiver(store: store, directory: archive, maximumEvents: 3, isWithoutEarlierFiles: true)
      _ = try told.archive(before: Self.cutoff)
      #expect(try File.archiveNames(in: archive) == ["events-000000000006-000000000008.jsonl"])
    }
  }

  /// Files of an archiver whose events another dropped, or one that ended before it removed them.
  @Test(arguments: [4, 8]) func filesThatAnotherCoversGoOnceTheLogBeginsWhereThatOneEnds(_ count: Int) async throws {
    try await withStore { store, data, archive in
      try await store.commit(events: (0..<10).map { .at($0) })
      let events = try await store.events()
      _ = try EventArchiver(store: store, directory: archive, maximumEvents: 5).archive(before: Self.cutoff)
      try Self.write(events.prefix(count), to: "\(archive)/events-000000000001-00000000000\(count).jsonl")
      #expect(try EventArchiver(store: store, directory: archive).archive(before: Sample.now) == .nothing)
      #expect(try File.archiveNames(in: archive) == ["events-000000000001-000000000005.jsonl"])
      try expectWhole(data, archive, count: 11)
    }
  }

  @Test(arguments: [0o707, 0o770, 0o1777] as [mode_t])
  func aDirectoryThatOthersMayWriteToIsRefused(_ mode: mode_t) async throws {
    try await withStore { store, _, archive in
      #expect(mkdir(archive, 0o700) == 0)
      #expect(chmod(archive, mode) == 0)
      let error = #expect(throws: ArchiveError.self) {
        try EventArchiver(store: store, directory: archive).prepare()
      }
      #expect(error?.code == .unusable)
      #expect(error?.message.hasSuffix("lets other users change it: run `chmod go-w \(archive)`") == true)
    }
  }

  @Test func aDirectoryThatOthersMayExchangeIsRefused() async throws {
    try await withTemporaryDirectory { parent in
      try await withStore { store, _, _ in
        #expect(mkdir("\(parent)/shared", 0o700) == 0)
        #expect(chmod("\(parent)/shared", 0o777) == 0)
        let archive = "\(parent)/shared/archive"
        let error = #expect(throws: ArchiveError.self) {
          try EventArchiver(store: store, directory: archive).prepare()
        }
        #expect(error?.code == .unusable)
        #expect(error?.message.hasPrefix("\(archive): its directory \(parent)/shared: mode 0777") == true)
        #expect((try? File.names(in: "\(parent)/shared"))?.isEmpty == true)
      }
    }
  }

  // MARK: Beside others

  @Test func whatIsErasedBesideArchivingStandsInNoFile() async throws {
    try await withStore { store, data, archive in
      let profiles = (0..<40).map { "profile-\($0)" }
      for profile in profiles { try await store.commit(events: (0..<25).map { .at($0, profile: profile) }) }
      try await store.commit(events: [.at(200), .at(201)])
      async let erased: Void = {
        for profile in profiles.reversed() { try await store.commit(.eraseProfile(.sample(profile))) }
      }()
      let archiver = EventArchiver(store: store, directory: archive, maximumEvents: 60)
      for _ in 0..<30 { _ = try archiver.archive(before: Self.cutoff) }
      try await erased
      let accounts = UInt64(profiles.count)
      let verification = try expectWhole(
        data, archive, count: 1_002 + accounts + UInt64(File.archiveNames(in: archive).count))
      let inLog = try SQLiteAuditLog.verify(directory: data)
      #expect(verification.erasedHereCount == 0)
      #expect(verification.erasedCount + inLog.erasedCount <= 1_000)
    }
  }

  @Test func ofManyArchiversAtATimeEachEventIsInOneFile() async throws {
    try await withStore { store, data, archive in
      for _ in 0..<10 { try await store.commit(events: (0..<50).map { .at($0) }) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            let archiver = EventArchiver(store: store, directory: archive, maximumEvents: 30)
            try await eventually { try archiver.archive(before: Self.cutoff) == .nothing }
          }
        }
        try await group.waitForAll()
      }
      try expectWhole(data, archive, count: 517)
      #expect(try await store.events().count == 17)
      #expect(try File.archiveNames(in: archive).count == 17)
    }
  }

  // MARK: Support

  /// The archive and what is left, as one chain.
  @discardableResult
  private func expectWhole(
    _ data: String, _ archive: String, count: UInt64, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> ArchiveVerification {
    let log = try SQLiteAuditLog.verify(directory: data)
    let verification = try ArchiveVerification(directory: archive, before: log)
    #expect(log.fault == nil, sourceLocation: sourceLocation)
    #expect(verification.fault == nil, sourceLocation: sourceLocation)
    #expect(log.verifiedCount + verification.verifiedCount == count, sourceLocation: sourceLocation)
    return verification
  }

  /// As an archiver does.
  static func write(_ events: some Collection<EventRecord>, to path: String) throws {
    let writer = try ArchiveFileWriter(creating: path)
    try writer.write(.header(.genesis))
    var end = EventChain.Head.genesis
    for event in events {
      try writer.write(.event(ArchivedEvent(record: event)))
      end = EventChain.Head(sequence: event.sequence, hash: event.hash)
    }
    try writer.write(.trailer(end))
    try writer.finish()
  }
}
