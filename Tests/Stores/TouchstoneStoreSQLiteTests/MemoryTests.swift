import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// Memory holds the committed records, and a bounded number of them.
struct RecentRecordsTests {
  private var records = RecentRecords<ByteString, DeviceRecord>(capacity: 8)

  @Test mutating func whatWasNeverSeenIsUnknownAndWhatIsNotThereIsAbsent() {
    #expect(state("a") == "unknown")
    records.fill(nil, for: ByteString("a"), readAt: records.revision)
    #expect(state("a") == "absent")
    #expect(records.version(of: ByteString("a")) == 0)
    #expect(records.version(of: ByteString("b")) == nil)
  }

  /// The writer published while a reader was reading: the reader may have seen what was there before.
  @Test mutating func whatWasReadBeforeAPublicationIsNotKept() {
    let revision = records.revision
    records.publish(SharedRecord(.sample("a", failures: 2, version: 2)), for: ByteString("a"))
    records.fill(SharedRecord(.sample("a", failures: 1, version: 1)), for: ByteString("a"), readAt: revision)
    #expect(state("a") == "version 2")
  }

  @Test mutating func aChangeOfWhatIsHereIsSeenAndOfOthersIsNot() {
    records.publish(SharedRecord(.sample("a", failures: 1, version: 1)), for: ByteString("a"))
    records.publish(for: ByteString("a")) { $0.version = 7 }
    records.publish(for: ByteString("b")) { $0.version = 7 }
    #expect(state("a") == "version 7")
    #expect(state("b") == "unknown")
  }

  @Test mutating func itStaysWithinItsBoundAndKeepsWhatIsUsed() {
    records.publish(SharedRecord(.sample("hot", failures: 0, version: 1)), for: ByteString("hot"))
    for number in 0..<1_000 {
      let record = SharedRecord(DeviceRecord.sample("\(number)", failures: 0, version: 1))
      records.publish(record, for: ByteString("\(number)"))
      #expect(records.count <= 8)
      #expect(state("hot") == "version 1")
    }
    #expect(state("0") == "unknown")
    #expect(state("999") == "version 1")
  }

  private mutating func state(_ id: String) -> String {
    records.lookUp(ByteString(id)).summary
  }
}

struct ExpiringRecordsTests {
  private var records = ExpiringRecords<EvaluationRecord>(capacity: 10, isCompleteFrom: UnixTime(seconds: 100))

  @Test mutating func fromTheCompletePartOnWhatIsNotHereIsNowhere() {
    let before = key(at: 99)
    let after = key(at: 100)
    #expect(records.lookUp(before).summary == "unknown")
    #expect(records.lookUp(after).summary == "absent")
    for key in [before, after] { records.publish(EvaluationRecord(key: key, version: 1), for: key) }
    #expect(records.lookUp(before).summary == "unknown")
    #expect(records.lookUp(after).summary == "version 1")
    #expect(records.count == 1)
  }

  @Test mutating func overItsBoundWhatExpiresFirstGoesAndIsUnknownFromThenOn() {
    let keys = (0..<20).map { key(at: 100 + $0) }
    for key in keys.shuffled() {
      records.publish(EvaluationRecord(key: key, version: 1), for: key)
      #expect(records.count <= 10)
    }
    let firstKnown = Int(records.isCompleteFrom.seconds) - 100
    #expect(firstKnown >= 10)
    #expect(keys.map { records.lookUp($0).summary } == (0..<20).map { $0 < firstKnown ? "unknown" : "version 1" })
    #expect(records.lookUp(key(at: 119)).summary == "absent")
  }

  @Test mutating func whatMayBeSweptIsUnknown() {
    let keys = (0..<4).map { key(at: 100 + $0) }
    for key in keys { records.publish(EvaluationRecord(key: key, version: 1), for: key) }
    records.forget(before: UnixTime(seconds: 102))
    #expect(keys.map { records.lookUp($0).summary } == ["unknown", "unknown", "version 1", "version 1"])
  }

  private func key(at seconds: Int64) -> ExpiringKey {
    .sample(expiresAt: UnixTime(seconds: seconds))
  }
}

struct RecordCodingTests {
  @Test(arguments: [
    [], [UInt8](repeating: 1, count: 1), [1, 65], [9, 0], [1, 2, 3],
    // Attested: nothing follows, no such level, fewer facts than announced, half a fact.
    [0x81, 0], [0x81, 0, 9, 0, 0, 0, 0], [0x81, 0, 4, 0, 0, 0, 9], [0x81, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0],
  ])
  func keysThatWereNeverWrittenAreNotRead(_ bytes: [UInt8]) {
    #expect([HardwareKeyRecord](encoded: bytes) == (bytes.isEmpty ? [] : nil))
  }

  @Test(arguments: [[0], [0, 0, 0, 1], [0, 0, 0, 0], [255, 255, 255, 255, 0, 0, 0, 0]] as [[UInt8]])
  func detailsThatWereNeverWrittenAreNotRead(_ bytes: [UInt8]) {
    #expect([EventDetail](encoded: bytes) == nil)
  }
}

extension CacheLookup where Record: VersionedRecord {
  fileprivate var summary: String {
    switch self {
    case .present(let record): "version \(record.version)"
    case .absent: "absent"
    case .unknown: "unknown"
    }
  }
}
