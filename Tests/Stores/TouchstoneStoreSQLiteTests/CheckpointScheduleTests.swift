import Testing

@testable import TouchstoneStoreSQLite

struct CheckpointScheduleTests {
  private var schedule = CheckpointSchedule(startFrames: 4_000)
  private let start = 4_000
  private let little = CheckpointSchedule.writerFrames

  @Test mutating func aShortLogIsLeftAlone() {
    #expect(schedule.committed(walFrames: start - 1) == .none)
  }

  @Test mutating func aLongLogIsCopiedBesideCommitsOnce() {
    #expect(schedule.committed(walFrames: start) == .copyBesideCommits)
    #expect(schedule.committed(walFrames: start + 1) == .none)
  }

  @Test mutating func theWriterCopiesALittleRest() {
    _ = schedule.committed(walFrames: start)
    #expect(schedule.copiedBesideCommits(copiedFrames: start, walFrames: start + little) == .copyOnWriter)
  }

  @Test mutating func aLargeRestIsCopiedBesideCommitsAgainButNotForever() {
    _ = schedule.committed(walFrames: start)
    for _ in 1..<CheckpointSchedule.maximumRounds {
      #expect(schedule.copiedBesideCommits(copiedFrames: 0, walFrames: start) == .copyBesideCommits)
    }
    #expect(schedule.copiedBesideCommits(copiedFrames: 0, walFrames: start) == .copyOnWriter)
  }

  @Test mutating func afterACompleteCopyTheLogStartsAnew() {
    _ = schedule.committed(walFrames: start)
    schedule.copiedOnWriter(copiedFrames: start, walFrames: start)
    #expect(schedule.committed(walFrames: 1) == .none)
    #expect(schedule.committed(walFrames: start) == .copyBesideCommits)
  }

  @Test mutating func whereAReaderKeepsTheLogOrCopyingFailsItIsTriedAgainWhenItHasGrown() {
    _ = schedule.committed(walFrames: start)
    schedule.copiedOnWriter(copiedFrames: 10, walFrames: start)
    #expect(schedule.committed(walFrames: start + 1) == .none)
    #expect(schedule.committed(walFrames: 2 * start) == .copyBesideCommits)
    schedule.failed(walFrames: 2 * start)
    #expect(schedule.committed(walFrames: 2 * start + 1) == .none)
    #expect(schedule.committed(walFrames: 3 * start) == .copyBesideCommits)
  }
}
