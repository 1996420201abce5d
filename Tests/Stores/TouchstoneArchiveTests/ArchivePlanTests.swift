import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneArchive

/// Which events are archived. A letter is an event: old (o), young (y), of the future (f) or erased (e).
struct ArchivePlanTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let log: String
    var maximum: UInt64 = 100
    /// So many before the log were archived earlier.
    var archived: UInt64 = 0
    let end: UInt64

    var testDescription: String { "\(log) after \(archived), at most \(maximum): to \(end)" }
  }

  static let cases = [
    Case(log: "", end: 0), Case(log: "o", end: 0), Case(log: "oo", end: 0),
    // The last two stay.
    Case(log: "ooo", end: 1), Case(log: "ooooo", end: 3),
    Case(log: "yyyyy", end: 0), Case(log: "ooyyy", end: 2),
    // The first young one ends it, whatever comes behind.
    Case(log: "oyooooo", end: 1), Case(log: "yoooooo", end: 0),
    // Erased ones go with the next that says a time.
    Case(log: "eeoyyy", end: 3), Case(log: "oeeyyy", end: 1), Case(log: "oeoeyyy", end: 3), Case(log: "eeeee", end: 0),
    // So do those of a clock that was ahead: they keep nothing in the log.
    Case(log: "ffoyyy", end: 3), Case(log: "offyyy", end: 1), Case(log: "offooyyy", end: 5), Case(log: "fffff", end: 0),
    // A file has room for so many.
    Case(log: "ooooooo", maximum: 3, end: 3), Case(log: "eeeeeoyy", maximum: 3, end: 3),
    Case(log: "eeeeeyyy", maximum: 3, end: 0), Case(log: "ooeeeyyy", maximum: 3, end: 2),
    Case(log: "oooyy", archived: 10, end: 13), Case(log: "ooooooo", maximum: 2, archived: 10, end: 12),
    Case(log: "yyyyy", archived: 10, end: 10),
  ]

  @Test(arguments: cases) func theBeginningThatIsOldEnoughIsArchived(_ tableRow: Case) {
    let start = EventChain.Head(sequence: tableRow.archived, hash: Self.hash(tableRow.archived))
    let end = tableRow.archived + UInt64(tableRow.log.count)
    var plan = ArchivePlan(
      start: start, head: EventChain.Head(sequence: end, hash: Self.hash(end)),
      limit: .init(cutoff: Sample.now, present: Sample.now + .seconds(1)),
      maximumEvents: tableRow.maximum)
    for (index, letter) in tableRow.log.enumerated() {
      plan.take(Self.record(letter, tableRow.archived + UInt64(index) + 1))
    }
    #expect(plan.end == EventChain.Head(sequence: tableRow.end, hash: Self.hash(tableRow.end)))
  }

  @Test func whatHappenedAtTheCutoffIsNotOldEnough() {
    var plan = ArchivePlan(
      start: .genesis, head: EventChain.Head(sequence: 9, hash: []), limit: .init(cutoff: Sample.now + .microseconds(1))
    )
    plan.take(Self.record("y", 1))
    #expect(plan.end.sequence == 1)
    plan.take(Self.record("y", 2, after: .microseconds(1)))
    #expect(plan.end.sequence == 1)
    #expect(plan.isComplete)
  }

  private static func hash(_ sequence: UInt64) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: 32)
  }

  private static func record(_ letter: Character, _ sequence: UInt64, after time: Duration? = nil) -> EventRecord {
    var event = EventDraft.sample()
    event.time = Sample.now + (time ?? (letter == "o" ? .seconds(-1) : letter == "f" ? .seconds(100 * 86_400) : .zero))
    let content: EventRecord.Content =
      letter == "e" ? .erased(digest: hash(0)) : .whole(event, salt: UniqueID(high: 0, low: 0))
    return EventRecord(sequence: sequence, content: content, hash: hash(sequence))
  }
}
