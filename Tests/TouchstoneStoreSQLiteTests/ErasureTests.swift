import Glibc
import StoreConformance
import TemporaryFiles
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// What an erasure leaves on the disk.
struct ErasureTests {
  /// Enough that pages were split, and rows moved from one to another.
  private static let profileCount = 300

  @Test func nothingOfAnErasedProfileIsInAnyFileOnceItIsAnswered() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      for number in 0..<Self.profileCount { try await fill(store, "somebody \(number).") }
      let erased = stride(from: 7, to: Self.profileCount, by: 41).map { "somebody \($0)." }
      #expect(try erased.allSatisfy { try occurs($0, in: directory) })
      for profile in erased { try await store.commit(.eraseProfile(.sample(profile))) }
      for profile in erased { #expect(try !occurs(profile, in: directory), "\(profile)") }
      #expect(try occurs("somebody 8.", in: directory))
      await store.close()
      for profile in erased { #expect(try !occurs(profile, in: directory), "\(profile)") }

      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == nil)
      #expect(verification.erasedCount == UInt64(2 * erased.count))
    }
  }

  /// A reader that is at it keeps the log; what it holds goes with the next checkpoint that finds none.
  @Test func aReaderDoesNotKeepAnErasedProfileForEver() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.checkpointFrames = 50
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await fill(store, "somebody 1.")
      do {
        let reader = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
        let select = try Statement("SELECT * FROM events", on: reader)
        #expect(try select.next() != nil)
        try await store.commit(.eraseProfile(.sample("somebody 1.")))
        #expect(try occurs("somebody 1.", in: directory))
        select.reset()
      }
      // Little by little, so that it is not just overwritten.
      let checkpoints = store.statistics.checkpoints
      for _ in 0..<1_000 where store.statistics.checkpoints == checkpoints {
        try await store.commit(events: [.sample()])
      }
      #expect(store.statistics.checkpoints > checkpoints)
      #expect(try !occurs("somebody 1.", in: directory))
      await store.close()
    }
  }

  /// As `touchstone backup` reads, for as long as it takes.
  @Test func nobodyWaitsForAReaderWhenProfilesAreErasedAndAnIdleServiceForgetsThemOnceItIsGone() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      let profiles = (0..<Self.erasedBesideReader).map { "somebody \($0)." }
      for profile in profiles { try await fill(store, profile) }
      do {
        let reader = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM events")
        var durations: [Duration] = []
        for profile in profiles {
          let start = ContinuousClock.now
          try await store.commit(.eraseProfile(.sample(profile)))
          durations.append(.now - start)
        }
        // Some take long on a machine that is busy; where they wait for the reader, all do.
        #expect(durations.sorted()[profiles.count / 4] < Self.waitForReader)
        #expect(try profiles.contains { try occurs($0, in: directory) })
      }
      // No commit and no checkpoint comes any more.
      for _ in 0..<1_000 where try !File.read("\(directory)/touchstone.db-wal").isEmpty {
        try await Task.sleep(for: .milliseconds(10))
      }
      for profile in profiles { #expect(try !occurs(profile, in: directory), "\(profile)") }
      await store.close()
    }
  }

  /// What was answered as erased is gone soon after the next start.
  @Test func whatAKilledServiceStillHadToEmptyTheNextOneEmpties() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: "\(directory)/running")
      try await fill(store, "somebody 1.")
      let reader = try SQLiteConnection(path: "\(directory)/running/touchstone.db", access: .readOnly)
      try reader.execute("BEGIN; SELECT count(*) FROM events")
      try await store.commit(.eraseProfile(.sample("somebody 1.")))
      let killed = "\(directory)/killed"
      mkdir(killed, 0o700)
      for name in ["touchstone.db", "touchstone.db-wal"] {
        try File.write(File.read("\(directory)/running/\(name)"), to: "\(killed)/\(name)")
      }
      #expect(try occurs("somebody 1.", in: killed))

      let next = try SQLiteStore.open(directory: killed)
      for _ in 0..<1_000 where try !File.read("\(killed)/touchstone.db-wal").isEmpty {
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(try !occurs("somebody 1.", in: killed))
      await next.close()
      try reader.execute("COMMIT")
      await store.close()
    }
  }

  private static let erasedBesideReader = 50
  /// How long emptying the log would wait.
  private static let waitForReader = Duration.milliseconds(100)

  /// The log is searched before the writer's turn comes.
  @Test func whatWasWrittenSinceTheSearchIsErasedTooAndWhatWasErasedSinceIsNotAccountedForAgain() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
      let start = UnixTime(microseconds: 0)
      let committed = CommittedState(
        options: SQLiteStoreOptions(), evaluationsCompleteFrom: start, tokensCompleteFrom: start)
      let writer = try BatchWriter(
        on: connection, committed: committed, signer: AccountSigner(review: .none), options: SQLiteStoreOptions())
      func write(_ change: Change? = nil, events: [EventDraft] = [], _ found: FoundEvents...) throws {
        _ = try writer.write([
          .commit(ChangeSet(changes: change.map { [$0] } ?? [], events: events), found, { _ in })
        ])
      }
      try write(events: [.sample(), .sample(profile: "bob")])
      // Searched when the log had its first event.
      let found = FoundEvents(sequences: [1], searchedThrough: 1)
      try write(events: [.sample()])
      try write(.eraseProfile(.alice), found)
      try write(.eraseProfile(.alice), found)
      let events = try EventLog(on: connection).page(
        matching: EventFilter(applicationID: ""), afterSequence: 0, limit: 10
      ).events
      #expect(events.map(\.isErased) == [true, false, true, false, false])
      let accounts = events.suffix(2).map { $0.event?.details.first { $0.key == "erased_events" }?.value }
      #expect(accounts == ["2", "0"])
    }
  }

  /// An event that cannot be read any more was tampered with: it goes, and is still named.
  @Test func anUnreadableEventIsErasedAndStillNamed() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: [.sample(), .sample(), .sample(profile: "bob"), .sample(profile: "bob")])
      try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
        .execute("UPDATE events SET details = x'ff' WHERE sequence = 2")
      try await store.commit(.eraseProfile(.alice))
      #expect(try await store.events().map(\.isErased) == [true, true, false, false, false])
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == .altered(sequence: 2))
    }
  }

  @Test func anErasureAndItsMarkAreThereAfterClosingAndOpening() async throws {
    try await withTemporaryDirectory { directory in
      var store = try SQLiteStore.open(directory: directory)
      try await store.commit(.putProfile(.sample(passcode: .sample())))
      for version in 1...6 as ClosedRange<RecordVersion> {
        try await store.commit(.putProfile(.sample(passcode: .sample(), version: version)))
      }
      try await store.commit(.eraseProfile(.alice))
      await store.close()
      store = try SQLiteStore.open(directory: directory)
      #expect(try await store.profile().version == 0)
      try await store.commit(.putProfile(.sample()))
      #expect(try await store.profile().version > 7)
      await store.close()
    }
  }

  /// A profile, its binding, stand-ins for both, and two events that name it.
  private func fill(_ store: SQLiteStore, _ profile: String) async throws {
    let verifier = Array("verifier of \(profile)".utf8)
    let events = ["a", "b"].map { kind in
      EventDraft.sample(kind, profile: profile, details: [EventDetail(key: "of", value: profile)])
    }
    try await store.commit(
      .putProfile(.sample(profile, passcode: .sample(verifier: verifier))),
      .putBinding(.sample("binding of \(profile)", profile: profile)),
      .putDevice(
        .sample(
          DeviceRecord.standInID(forUnknownBinding: "binding of \(profile)", applicationID: Sample.application),
          failures: 1)),
      .putProfile(.sample(ProfileRecord.standInID(forUnknownBinding: "binding of \(profile)"))),
      .putProfile(.sample(ProfileRecord.standInID(forProfile: profile))), events: events)
  }

  private func occurs(_ text: String, in directory: String) throws -> Bool {
    try File.names(in: directory).contains { name in
      try File.read("\(directory)/\(name)").contains(Array(text.utf8))
    }
  }
}

extension [UInt8] {
  fileprivate func contains(_ pattern: [UInt8]) -> Bool {
    withUnsafeBytes { bytes in
      var offset = 0
      while offset + pattern.count <= bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
        guard let start = rest.baseAddress, let first = memchr(start, Int32(pattern[0]), rest.count) else { break }
        offset += first - UnsafeMutableRawPointer(mutating: start)
        if bytes[offset...].starts(with: pattern) { return true }
        offset += 1
      }
      return false
    }
  }
}
