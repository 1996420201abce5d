import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneArchive

/// A file holds the log's events, field by field.
struct ArchiveLineTests {
  private static let hash = [UInt8](repeating: 0xA5, count: 32)
  private static let salt = UniqueID(high: 1, low: 2)

  static let lines: [ArchiveLine] = [
    .header(.genesis), .header(EventChain.Head(sequence: 100_000, hash: hash)),
    .trailer(EventChain.Head(sequence: 7, hash: hash)),
    event(.sample()), event(.sample("", application: "", profile: "", details: [])),
    event(
      .sample(
        "a \"quoted\" \\ kind", application: "\0\n\u{1F}", profile: "Ünïcødé 🔒",
        details: [EventDetail(key: "", value: ""), EventDetail(key: "ключ", value: "\u{7F}")])),
    .event(ArchivedEvent(record: EventRecord(sequence: 9, content: .erased(digest: hash), hash: hash))),
    .event(
      ArchivedEvent(
        record: EventRecord(sequence: 9, content: .erased(digest: hash), hash: hash), erasureHere: ArchiveErasure())),
    .event(
      ArchivedEvent(
        record: EventRecord(sequence: 9, content: .erased(digest: hash), hash: hash),
        erasureHere: ArchiveErasure(
          signature: AccountSignature(keyID: String(repeating: "k", count: 43), bytes: hash + hash)))),
  ]

  private static func event(_ draft: EventDraft) -> ArchiveLine {
    .event(ArchivedEvent(record: EventRecord(sequence: 3, content: .whole(draft, salt: salt), hash: hash)))
  }

  @Test(arguments: lines) func whatIsWrittenIsReadAgain(_ line: ArchiveLine) {
    let bytes = line.encoded
    #expect(ArchiveLine(bytes) == line)
    #expect(!bytes.contains(UInt8(ascii: "\n")))
  }

  @Test func theFormIsTheOneThatIsDocumented() {
    let hex = String(repeating: "a5", count: 32)
    let text = String(decoding: Self.event(.sample()).encoded, as: UTF8.self)
    #expect(
      text == """
        {"sequence":3,"time_us":1700000000000000,"kind":"evaluation.succeeded","application_id":"com.example.bank",\
        "profile_id":"alice","device_id":"phone-1","binding_id":"b-1","caller":"spiffe://example.org/login",\
        "details":["factor","biometry"],"salt":"00000000000000010000000000000002","hash":"\(hex)"}
        """)
  }

  @Test(arguments: [
    "", "{}", "[]", "{\"sequence\":1}", "{\"sequence\":0,\"erased\":\"log\",\"digest\":\"\",\"hash\":\"\"}",
    "{\"archive\":\"touchstone.events\",\"version\":2,\"first_sequence\":1,\"previous_hash\":\"\(zeroes)\"}",
    "{\"archive\":\"other\",\"version\":1,\"first_sequence\":1,\"previous_hash\":\"\(zeroes)\"}",
    "{\"last_sequence\":-1,\"last_hash\":\"\(zeroes)\"}", "{\"last_sequence\":1,\"last_hash\":\"00\"}",
    "{\"last_sequence\":1,\"last_hash\":\"\(zeroes)\",\"more\":1}",
    "{ \"last_sequence\":1,\"last_hash\":\"\(zeroes)\"}",
    "{\"sequence\":1,\"erased\":\"elsewhere\",\"digest\":\"\(zeroes)\",\"hash\":\"\(zeroes)\"}",
  ])
  func whatWasNotWrittenSoIsNotRead(_ text: String) {
    #expect(ArchiveLine(Array(text.utf8)) == nil)
  }

  private static let zeroes = String(repeating: "0", count: 64)
}

struct ArchiveFileNameTests {
  @Test(arguments: [
    ("events-000000000001-000000100000.jsonl", 1, 100_000),
    ("events-000000100001-000000100001.jsonl", 100_001, 100_001),
    ("events-1234567890123-1234567890124.jsonl", 1_234_567_890_123, 1_234_567_890_124),
  ])
  func aNameSaysWhichEvents(_ text: String, _ first: UInt64, _ last: UInt64) {
    #expect(ArchiveFileName(text) == ArchiveFileName(first: first, last: last))
    #expect(ArchiveFileName(first: first, last: last).text == text)
  }

  @Test(arguments: [
    "", "events-.jsonl", "events-1-2.jsonl", "events-000000000002-000000000001.jsonl",
    "events-000000000000-000000000001.jsonl", "events-000000000001-000000000002.jsonl.new",
    "events-000000000001-000000000002-000000000003.jsonl", "other-000000000001-000000000002.jsonl",
  ])
  func otherFilesAreNotTakenForArchives(_ text: String) {
    #expect(ArchiveFileName(text) == nil)
  }
}
