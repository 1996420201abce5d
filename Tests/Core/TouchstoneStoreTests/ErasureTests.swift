import Testing
import TouchstonePolicy

@testable import TouchstoneStore

/// R41: a content is gone only where an erasure accounts for it, event by event.
struct ErasureTests {
  @Test func anErasedEventThatIsAccountedForVerifies() throws {
    var verifier = EventChainVerifier()
    for record in Log(of: 10).erasing([2, 5, 9]).records { try verifier.verify(record) }
    #expect(verifier.hasUnaccounted == false)
    try verifier.requireAccounts()
    #expect(verifier.erasedCount == 3)
    #expect(verifier.verifiedCount == 11)
  }

  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fault: EventChainVerifier.Fault
    let make: @Sendable (inout [EventRecord]) -> Void

    init(
      _ description: String, _ fault: EventChainVerifier.Fault,
      _ make: @escaping @Sendable (inout [EventRecord]) -> Void
    ) {
      testDescription = description
      self.fault = fault
      self.make = make
    }
  }

  /// In a log of ten events, of which 2 and 5 were erased: 11 accounts for them.
  @Test(arguments: [
    Tampering("one more content removed", .removed(sequence: 4)) { $0[3] = $0[3].erased() },
    Tampering("the first content removed", .removed(sequence: 1)) { $0[0] = $0[0].erased() },
    Tampering("two more removed", .removed(sequence: 7)) { log in
      for index in [8, 6] { log[index] = log[index].erased() }
    },
    Tampering("the account itself removed", .removed(sequence: 2)) { $0[10] = $0[10].erased() },
    Tampering("the account cut off", .removed(sequence: 2)) { $0.removeLast() },
    Tampering("another digest", .altered(sequence: 5)) {
      $0[4].content = .erased(digest: [UInt8](repeating: 1, count: 32))
    },
    Tampering("an empty digest", .altered(sequence: 5)) { $0[4].content = .erased(digest: []) },
    Tampering("its hash for a digest", .altered(sequence: 5)) { $0[4].content = .erased(digest: $0[4].hash) },
    Tampering("an erased content back from a backup", .restored(sequence: 5)) { $0[4] = Log(of: 10).records[4] },
  ])
  func whatWasRemovedWithoutAnErasureIsNamed(_ tampering: Tampering) {
    var records = Log(of: 10).erasing([2, 5]).records
    tampering.make(&records)
    #expect(Log.fault(in: records) == tampering.fault)
  }

  @Test func anErasureOfMoreThanOneAccountHoldsIsAccountedForInParts() throws {
    let all = Array(UInt64(1)...600)
    let log = Log(of: 600).erasing(all)
    #expect(log.records.count == 610)
    #expect(Log.fault(in: log.records) == nil)
    let counts = log.records.suffix(10).map { $0.event?.details.first { $0.key == "erased_events" }?.value }
    #expect(counts == [String](repeating: "64", count: 9) + ["24"])
  }

  @Test func anAccountNamesNobody() {
    let accounts = erasure.accounts(ofErased: [3, 4].map { ErasedEvent(sequence: $0, digest: digest) })
    #expect(accounts.count == 1)
    #expect(accounts.allSatisfy { $0.profileID.isEmpty && $0.deviceID.isEmpty && $0.bindingID.isEmpty })
    #expect(accounts.map { ProfileErasure.events(accountedBy: $0).map(\.sequence) } == [[3, 4]])
    let none = erasure.accounts(ofErased: [])
    #expect(none.count == 1)
    #expect(none.map { ProfileErasure.events(accountedBy: $0) } == [[]])
  }

  @Test func numbersWithoutDigestsAccountForNothing() {
    var event = erasure.accounts(ofErased: [])[0]
    event.details = [EventDetail(key: "erased_sequences", value: "3,4")]
    #expect(ProfileErasure.events(accountedBy: event) == [])
  }

  @Test(arguments: ["", "00", String(repeating: "0", count: 31), String(repeating: "g", count: 32)])
  func digestsThatAreNotOneForEachNumberAccountForNothing(_ digests: String) {
    var event = erasure.accounts(ofErased: [])[0]
    event.details = [
      EventDetail(key: "erased_digests", value: digests), EventDetail(key: "erased_sequences", value: "3"),
    ]
    #expect(ProfileErasure.events(accountedBy: event) == [])
  }

  /// An erasure may take only an event that is as it was written, and the profile's own.
  @Test func anEventThatWasAlteredIsNotErasable() {
    let log = Log(of: 3)
    let (record, previous) = (log.records[1], log.records[0].hash)
    func finding(_ record: EventRecord?, after previous: [UInt8]?, of profile: String = "alice")
      -> ProfileErasure.Finding
    {
      ProfileErasure(applicationID: "a", profileID: profile, time: erasure.time, caller: "c", reason: "r")
        .finding(record, after: previous)
    }
    #expect(
      finding(record, after: previous) == .erasable(ErasedEvent(sequence: 2, digest: record.content.digest)))
    #expect(finding(record.erased(), after: previous) == .isErased)
    #expect(finding(nil, after: previous) == .broken)
    #expect(finding(record, after: nil) == .broken)
    #expect(finding(record, after: record.hash) == .broken)
    // As a search by an altered index finds it.
    #expect(finding(record, after: previous, of: "bob") == .broken)
    guard case .whole(var event, let salt) = record.content else { return }
    event.caller = "mallory"
    #expect(
      finding(EventRecord(sequence: 2, content: .whole(event, salt: salt), hash: record.hash), after: previous)
        == .broken)
    #expect(finding(EventRecord(sequence: 0, content: record.content, hash: record.hash), after: previous) == .broken)
  }

  @Test func noAccountIsErasable() {
    var chain = EventChain()
    for kind in ["profile.erased", "events.archived", "log.signed"] {
      let event = EventDraft(
        time: erasure.time, kind: kind, applicationID: erasure.applicationID, profileID: erasure.profileID, caller: "c")
      let previous = chain.head.hash
      #expect(erasure.finding(chain.append(event, salt: UniqueID(high: 0, low: 0)), after: previous) == .broken)
    }
  }

  /// An attacker had another content erased there, and put back the content that the chain has.
  @Test func anotherContentThanTheOneThatWasErasedIsNamed() {
    var log = Log(of: 3)
    log.account(for: [ErasedEvent(sequence: 2, digest: log.records[2].content.digest)])
    log.records[1] = log.records[1].erased()
    #expect(Log.fault(in: log.records) == .substituted(sequence: 2))
  }

  /// Many erased events, accounted for in any order, are found each.
  @Test func theOrderOfAccountsDoesNotMatter() {
    var log = Log(of: 300)
    let erased = (1...300).map { ErasedEvent(sequence: $0, digest: log.records[Int($0) - 1].content.digest) }
    for index in 0..<300 { log.records[index] = log.records[index].erased() }
    for index in stride(from: 1, to: 300, by: 2) { log.account(for: [erased[index]]) }
    log.account(for: stride(from: 298, through: 0, by: -2).map { erased[$0] })
    #expect(Log.fault(in: log.records) == nil)
    log.records.removeLast()
    #expect(Log.fault(in: log.records) != nil)
  }

  /// None of them may take long, nor excuse anything.
  @Test(arguments: [
    "", ",", "x", "1,,2", "1,-2", "1 2", "1-18446744073709551615", "18446744073709551616",
    String(repeating: "1,", count: 1_000_000), (1...65).map { "\($0)" }.joined(separator: ","),
  ])
  func aListThatWeNeverMadeAccountsForNothing(_ list: String) {
    var event = erasure.accounts(ofErased: [])[0]
    let digests = String(repeating: "0", count: 32 * min(100, list.split(separator: ",").count))
    event.details = [
      EventDetail(key: "erased_sequences", value: list), EventDetail(key: "erased_digests", value: digests),
    ]
    #expect(ProfileErasure.events(accountedBy: event) == [])
  }

  @Test func anotherEventIsNoAccount() {
    var event = erasure.accounts(ofErased: [ErasedEvent(sequence: 1, digest: digest)])[0]
    event.kind = "profile.erased "
    #expect(ProfileErasure.events(accountedBy: event) == [])
  }

  @Test func anAccountSpeaksForNothingBeforeTheStartNorAfterItself() throws {
    let records = Log(of: 10).erasing([2, 5, 9]).records
    var verifier = EventChainVerifier(continuing: EventChain.Head(sequence: 5, hash: records[4].hash))
    for record in records[5...] { try verifier.verify(record) }
    try verifier.requireAccounts()
    #expect(verifier.erasedCount == 1)

    var log = Log(of: 3)
    log.account(for: [4, 5, 900].map { ErasedEvent(sequence: $0, digest: digest) })
    log.append("later")
    log.records[4] = log.records[4].erased()
    #expect(Log.fault(in: log.records) == .removed(sequence: 5))
  }

  /// An erasure beside a verification: what was read before is whole, what was read after is not.
  @Test func anAccountThatCameMeanwhileIsTakenFromBehindTheEnd() throws {
    let before = Log(of: 10).records
    let after = Log(of: 10).erasing([2, 9]).records
    var verifier = EventChainVerifier()
    for record in before[..<5] + after[5..<10] { try verifier.verify(record) }
    #expect(verifier.hasUnaccounted)
    #expect(throws: EventChainVerifier.Fault.removed(sequence: 9)) { try verifier.requireAccounts() }
    try verifier.takeAccounts(of: after[10])
    try verifier.requireAccounts()
    #expect(verifier.verifiedCount == 10)
  }
}

private let erasure = ProfileErasure(
  applicationID: "com.example.bank", profileID: "alice", time: UnixTime(seconds: 1_700_000_000), caller: "admin",
  reason: "ticket 4711")

private let digest = [UInt8](repeating: 1, count: 32)

/// A log as a store would have it.
private struct Log {
  var records: [EventRecord] = []
  private var chain = EventChain()

  init(of count: Int) {
    for number in 1...count { append("event \(number)") }
  }

  mutating func append(_ kind: String) {
    append(EventDraft(time: UnixTime(seconds: 1), kind: kind, applicationID: "a", profileID: "alice", caller: "c"))
  }

  mutating func account(for erased: [ErasedEvent]) {
    for account in erasure.accounts(ofErased: erased) { append(account) }
  }

  func erasing(_ sequences: [UInt64]) -> Log {
    var log = self
    for sequence in sequences { log.records[Int(sequence) - 1] = records[Int(sequence) - 1].erased() }
    log.account(for: sequences.map { ErasedEvent(sequence: $0, digest: records[Int($0) - 1].content.digest) })
    return log
  }

  private mutating func append(_ event: EventDraft) {
    records.append(chain.append(event, salt: UniqueID(high: 0, low: UInt64(records.count))))
  }

  static func fault(in records: [EventRecord]) -> EventChainVerifier.Fault? {
    var verifier = EventChainVerifier()
    do throws(EventChainVerifier.Fault) {
      for record in records { try verifier.verify(record) }
      try verifier.requireAccounts()
      return nil
    } catch {
      return error
    }
  }
}
