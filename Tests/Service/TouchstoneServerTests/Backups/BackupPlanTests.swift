// When a backup is due, and which ones go.

import Testing
import TouchstonePolicy
import TouchstoneStoreSQLite

@testable import TouchstoneServer

@Suite("The plan of backups")
struct BackupPlanTests {
  private static let start = UnixTime(seconds: 1_800_000_000)

  /// - Parameter hours: after the start.
  private static func time(_ hours: Double) -> UnixTime { start + .seconds(Int64(hours * 3_600)) }

  private static func backup(_ hours: Double) -> BackupRecord {
    BackupRecord(name: "\(hours)", madeAt: time(hours), byteCount: 1)
  }

  /// Every six hours, three of them.
  private static func plan(kept hours: Double...) -> BackupPlan {
    var settings = BackupSettings()
    (settings.interval, settings.count) = (.seconds(6 * 3_600), 3)
    return BackupPlan(settings, kept: hours.map(backup), at: start)
  }

  @Test("The first is due at the start, the next one an interval after the last, also after a restart")
  func due() {
    #expect(Self.plan().isDue(at: Self.start))
    #expect(!Self.plan(kept: -2).isDue(at: Self.time(3.9)))
    #expect(Self.plan(kept: -2).isDue(at: Self.time(4)))
  }

  @Test("A clock that was set back behind the last backup delays none")
  func clockSetBack() {
    #expect(Self.plan(kept: 100).isDue(at: Self.start))
    var plan = Self.plan()
    plan.failed(at: Self.time(100))
    #expect(plan.isDue(at: Self.start))
  }

  @Test("A failed one is tried again after ten minutes, and is overdue meanwhile")
  func retry() {
    var plan = Self.plan(kept: -6)
    plan.failed(at: Self.start)
    #expect(!plan.isDue(at: Self.time(0.16)))
    #expect(plan.isDue(at: Self.time(0.17)))
    #expect(plan.overdue(at: Self.time(0.5)) == .seconds(1_800))
    #expect(plan.made(Self.backup(1)) { _ in true }.isEmpty)
    #expect(plan.overdue(at: Self.time(1)) == .zero)
  }

  @Test("Before the first one, it is overdue since the start")
  func overdueFromTheStart() {
    #expect(Self.plan().overdue(at: Self.time(2)) == .seconds(7_200))
  }

  @Test("With one more than are kept the oldest goes, and is tried again until it is gone")
  func surplus() {
    var plan = Self.plan(kept: -18, -12, -6)
    let first = plan.made(Self.backup(0)) { _ in true }
    #expect(first == [Self.backup(-18)])
    let second = plan.made(Self.backup(6)) { _ in true }
    #expect(second == [-18, -12].map(Self.backup))
    second.forEach { plan.removed($0) }
    #expect(plan.kept == [-6, 0, 6].map(Self.backup))
  }

  @Test("Backups that are gone, or are not as they were made, are no reason to remove a good one")
  func missing() {
    var plan = Self.plan(kept: -18, -12, -6)
    let surplus = plan.made(Self.backup(0)) { $0 == Self.backup(-18) }
    #expect(surplus.isEmpty)
    #expect(plan.kept == [-18, 0].map(Self.backup))
  }
}
