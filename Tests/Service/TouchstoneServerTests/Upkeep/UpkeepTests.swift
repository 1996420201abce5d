// The work that a service does beside its calls, each on a store of its own.

import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

@testable import TouchstoneServer

@Suite("Upkeep")
struct UpkeepTests {
  private static func withStore(_ body: (SQLiteStore, LogLines) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory + "/data")
      try await body(store, LogLines())
      await store.close()
    }
  }

  /// The events that a sweep reported to the service.
  private final class Sweeps: Sendable {
    let clockChecks = Mutex<[Bool]>([])

    var observer: Sweeping.Observer {
      Sweeping.Observer(
        begins: {}, storeFailed: {},
        clockChecked: { [self] isUsable in clockChecks.withLock { $0.append(isUsable) } })
    }
  }

  /// The numbers in the name of the file that a line tells.
  private static func archivedEvents(_ line: LogLines.Line) throws -> ClosedRange<UInt64> {
    let name = try #require(line.text.firstMatch(of: #/events-(\d+)-(\d+)\.jsonl/#), "\(line.text)")
    return try #require(UInt64(name.1))...(#require(UInt64(name.2)))
  }

  @Test("Events that grow old while a file is archived wait for the next round", .mustEnd)
  func archivingRoundsEnd() async throws {
    let age = Duration.seconds(16)
    try await Self.withStore { store, log in
      // Ages count from the latest sweep.
      _ = try await store.sweep(before: systemTime())
      // Some are old, others become so while a file is written, and the last ones stay young.
      let first = systemTime() + (.zero - age)
      let times = (-5..<4_000).map { first + .milliseconds($0 * 2) } + (0..<3).map { _ in first + age }
      try await store.commit(events: times.map { .ofOperator("test", at: $0, [:]) })
      let archive = TemporaryDirectory()
      let archiving = try Archiving(
        store: store, settings: RetentionSettings(age: age, archive: archive.path), logger: log.logger,
        meters: ServerMeters())
      let firstFile = await log.next(containing: "events were archived")
      // It comes after the round. A busy machine may have come to further ones.
      await withCheckedContinuation { done in archiving.whenIdle { done.resume() } }
      let files = [firstFile] + log.lines.filter { $0.text.contains("events were archived") }
      for file in try files.dropFirst().map(Self.archivedEvents) where file.upperBound < UInt64(times.count) {
        // A thousand events grow old from one round to the next, and few while a file is written.
        #expect(file.count >= 500, "events \(file) have a file of their own")
      }
      archiving.cancel()
      await withCheckedContinuation { done in archiving.whenIdle { done.resume() } }
    }
  }

  @Test("A clock behind the latest sweep is said before the service is up, in the log of events too")
  func clockBehind() async throws {
    try await Self.withStore { store, log in
      _ = try await store.sweep(before: systemTime() + .seconds(3_600))
      let sweeps = Sweeps()
      let sweeping = try Sweeping(store: store, logger: log.logger, observer: sweeps.observer)
      #expect(sweeps.clockChecks.withLock { $0 } == [false])
      #expect(await log.next(containing: "clock is behind").level == "error")
      sweeping.cancel()
      // Commits are made in their order, so that of the event is over by then.
      try await store.probe()
      #expect(try await store.events().map { $0.event?.kind } == ["clock.behind"])
    }
  }

  @Test("A clock that goes right says nothing")
  func clock() async throws {
    try await Self.withStore { store, log in
      let sweeps = Sweeps()
      try Sweeping(store: store, logger: log.logger, observer: sweeps.observer).cancel()
      #expect(sweeps.clockChecks.withLock { $0 }.isEmpty)
      #expect(log.lines.isEmpty)
    }
  }

  @Test("A first audit key signs from the reload on that brings it, and once")
  func signing() async throws {
    try await Self.withStore { store, log in
      let keyring = AuditKeyring(nil)
      let signing = try AccountSigning(store: store, keyring: keyring, logger: log.logger)
      signing.look()
      #expect(log.lines.isEmpty)
      try await withTemporaryDirectory { directory in
        keyring.replace(try KeyRing.loadOrCreate(directory: directory + "/keys").audit)
      }
      signing.keysChanged()
      #expect(await log.next(containing: "signed from event").text.contains("from event 1 on"))
      signing.look()
      signing.keysChanged()
      // The writes that they may have started are over then.
      try await store.probe()
      #expect(log.lines.isEmpty)
    }
  }

  @Test("The whole log is read when the service begins, and where it ends is logged")
  func verifying() async throws {
    try await Self.withStore { store, log in
      let event = EventDraft(time: systemTime(), kind: "test", applicationID: "", caller: "test", details: [])
      try await store.commit(events: [event])
      let verifying = LogVerifying.begin(store: store, auditKeyring: AuditKeyring(nil), logger: log.logger)
      let line = await log.next(containing: "the audit log was read")
      #expect(line.text.hasSuffix(" sequence=1") && line.level == "info")
      verifying.cancel()
    }
  }

  @Test(
    "A clock is said to differ from the database's when replicas would not tolerate it",
    arguments: [(-31, true), (-29, false), (0, false), (29, false), (31, true)])
  func clockDifference(seconds: Int, isSaid: Bool) async {
    let log = LogLines()
    let looks = Box<Void>()
    let watching = ClockWatching.begin(
      difference: { done in
        done(.success(.seconds(seconds)))
        looks.put(())
      }, logger: log.logger)
    await looks.next()
    watching.cancel()
    // It looks again each minute.
    #expect(Set(log.lines.map(\.text)) == (isSaid ? [warning(seconds)] : []))
  }

  private func warning(_ seconds: Int) -> String {
    "this machine's clock and the database's differ by more than is tolerated: set both by NTP seconds_ahead=\(seconds)"
  }
}
