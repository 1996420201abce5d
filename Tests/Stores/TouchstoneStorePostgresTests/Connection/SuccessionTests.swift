import Synchronization
import Testing

@testable import TouchstoneStorePostgres

/// A primary that another one replaced.
struct SuccessionTests {
  private final class Member: Sendable {
    let replacements = Atomic(0)

    var count: Int { replacements.load(ordering: .relaxed) }

    func enter(_ succession: Succession, _ number: Int64, system: Int64 = 7) -> Bool {
      succession.enter(ObjectIdentifier(self), on: Timeline(system: system, number: number)) {
        self.replacements.add(1, ordering: .relaxed)
      }
    }
  }

  @Test func aNewTimelineEndsTheConnectionsOfOlderOnesOnce() {
    let succession = Succession()
    let (old, older, new, same) = (Member(), Member(), Member(), Member())
    #expect(older.enter(succession, 3))
    #expect(old.enter(succession, 3))
    #expect(new.enter(succession, 4))
    #expect(same.enter(succession, 4))
    #expect([old, older, new, same].map(\.count) == [1, 1, 0, 0])
  }

  @Test func aReplacedPrimaryIsRefusedAndChangesNothing() {
    let succession = Succession()
    let (new, old) = (Member(), Member())
    #expect(new.enter(succession, 4))
    #expect(!old.enter(succession, 3))
    #expect([new, old].map(\.count) == [0, 0])
    #expect(!Member().enter(succession, 3))
  }

  @Test func aConnectionThatHasLeftIsNotEnded() {
    let succession = Succession()
    let (old, new) = (Member(), Member())
    #expect(old.enter(succession, 3))
    succession.leave(ObjectIdentifier(old))
    #expect(new.enter(succession, 4))
    #expect(old.count == 0)
    // The newest is known also while there is no connection to it.
    succession.leave(ObjectIdentifier(new))
    #expect(!old.enter(succession, 3))
  }

  /// The operator moved the database, by a dump or an upgrade: its numbers begin anew.
  @Test func anotherSystemIsNoSuccessor() {
    let succession = Succession()
    let (old, moved) = (Member(), Member())
    #expect(old.enter(succession, 4))
    #expect(moved.enter(succession, 1, system: 8))
    #expect(old.count == 0)
    #expect(!Member().enter(succession, 0, system: 8))
  }

  @Test func aServerSaysItsTimeline() async throws {
    try await withDatabase { uri in
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared(uri), options: .small, timeout: .seconds(60))
      let timeline = try await lane.run([StatementCall(Timeline.select)], isQuestion: true)
        .first?.only { row in Timeline(&row) }
      #expect(timeline?.number == 1)
      #expect(timeline?.system != 0)
    }
  }
}
