import Testing
import TouchstonePolicy

@testable import TouchstoneStore

/// R41: one altered, dropped or reordered event is named.
struct EventChainTests {
  @Test func eventsAreNumberedFromOneAndFollowTheGenesis() {
    var chain = EventChain()
    let first = chain.append(.sample("a"), salt: .sample)
    let second = chain.append(.sample("b"), salt: .sample)
    #expect([first.sequence, second.sequence] == [1, 2])
    #expect(first.hash.count == EventChain.hashByteCount)
    #expect(chain.head == EventChain.Head(sequence: 2, hash: second.hash))
  }

  /// The encoding is part of every stored log: it may never change.
  @Test func theHashOfAKnownEventIsKnown() {
    var chain = EventChain()
    let hash = chain.append(.sample("evaluation.succeeded"), salt: .sample).hash
    #expect(hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == knownHash)
  }

  @Test func aRewoundChainContinuesAsIfNothingHadBeenAppended() {
    var chain = EventChain()
    _ = chain.append(.sample("kept"), salt: .sample)
    let head = chain.head
    var other = chain
    _ = chain.append(.sample("taken back"), salt: .sample)
    chain.rewind(to: head)
    #expect(chain.append(.sample("next"), salt: .sample) == other.append(.sample("next"), salt: .sample))
  }

  @Test func fieldsDoNotRunIntoEachOther() {
    let drafts: [EventDraft] = [
      .sample("k", profile: "ab", details: []), .sample("ka", profile: "b", details: []),
      .sample("k", profile: "ab", details: [EventDetail(key: "", value: "")]),
      .sample("k", profile: "ab", details: [EventDetail(key: "a", value: "b")]),
      .sample("k", profile: "ab", details: [EventDetail(key: "ab", value: "")]),
    ]
    let hashes = drafts.map { draft in
      var chain = EventChain()
      return chain.append(draft, salt: .sample).hash
    }
    #expect(Set(hashes).count == drafts.count)
  }

  /// R41: the digest that stays does not prove an erased content, even for a reader that has the content.
  @Test func theSaltIsPartOfTheDigest() {
    let digests = [UniqueID(high: 1, low: 2), UniqueID(high: 1, low: 3), UniqueID(high: 2, low: 2)].map { salt in
      EventChain.contentDigest(of: .sample("a"), salt: salt)
    }
    #expect(Set(digests).count == 3)
  }

  @Test func anErasedEventKeepsItsPlace() {
    var chain = EventChain()
    let record = chain.append(.sample("a"), salt: .sample)
    let erased = record.erased()
    #expect(erased.isErased && erased.event == nil && !record.isErased)
    #expect(erased.hash == record.hash)
    #expect(erased.content.digest == record.content.digest)
    #expect(erased.erased() == erased)
  }

  @Test func anUntouchedLogVerifies() throws {
    let log = log(of: 100)
    var verifier = EventChainVerifier()
    for record in log { try verifier.verify(record) }
    #expect(verifier.verifiedCount == 100)
    #expect(verifier.head.hash == log.last?.hash)
    try verifier.conclude(at: EventChain.Head(sequence: 100, hash: log[99].hash))
  }

  struct Alteration: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sequence: UInt64
    let make: @Sendable (inout [EventRecord]) -> Void

    init(_ description: String, named sequence: UInt64, _ make: @escaping @Sendable (inout [EventRecord]) -> Void) {
      testDescription = description
      self.sequence = sequence
      self.make = make
    }
  }

  @Test(arguments: [
    Alteration("a content", named: 4) { $0[3].alter { $0.profileID = "mallory" } },
    Alteration("a time", named: 4) { $0[3].alter { $0.time = UnixTime(seconds: 1) } },
    Alteration("a detail", named: 4) { $0[3].alter { $0.details[0].value = "passcode" } },
    Alteration("a hash", named: 4) { $0[3].hash[0] ^= 1 },
    Alteration("the first event", named: 1) { $0[0].alter { $0.kind = "x" } },
    Alteration("the last event", named: 10) { $0[9].alter { $0.kind = "x" } },
    Alteration("two contents exchanged", named: 4) { log in
      (log[3].content, log[4].content) = (log[4].content, log[3].content)
    },
    Alteration("one dropped and the rest renumbered", named: 4) { log in
      log.remove(at: 3)
      for index in 3..<log.count { log[index].sequence -= 1 }
    },
  ])
  func anAlteredEventIsNamed(_ alteration: Alteration) {
    #expect(fault(after: alteration.make) == .altered(sequence: alteration.sequence))
  }

  @Test func aDroppedEventIsNamed() {
    #expect(fault { $0.remove(at: 0) } == .missing(sequence: 1))
    #expect(fault { $0.remove(at: 6) } == .missing(sequence: 7))
    #expect(fault { $0.removeSubrange(4..<7) } == .missing(sequence: 5))
    #expect(fault { $0.removeLast() } == .missing(sequence: 10))
    #expect(fault { $0.removeAll() } == .missing(sequence: 1))
  }

  @Test func aReorderedEventIsNamed() {
    #expect(fault { $0.swapAt(3, 4) } == .missing(sequence: 4))
    #expect(fault { $0.insert($0[1], at: 5) } == .outOfOrder(sequence: 2))
    #expect(fault { $0.append($0[9]) } == .outOfOrder(sequence: 10))
  }

  @Test func aLogThatWasWrittenAnewDoesNotEndAtTheNotedHead() throws {
    let noted = log(of: 10)[9]
    var chain = EventChain()
    var verifier = EventChainVerifier()
    for _ in 0..<10 { try verifier.verify(chain.append(.sample("forged"), salt: .sample)) }
    #expect(throws: EventChainVerifier.Fault.altered(sequence: 10)) {
      try verifier.conclude(at: EventChain.Head(sequence: 10, hash: noted.hash))
    }
  }

  @Test func verificationContinuesFromAHead() throws {
    let log = log(of: 10)
    var verifier = EventChainVerifier(continuing: EventChain.Head(sequence: 5, hash: log[4].hash))
    for record in log[5...] { try verifier.verify(record) }
    #expect(verifier.verifiedCount == 5)
  }

  @Test func faultsSayWhichEvent() {
    let faults: [EventChainVerifier.Fault] = [
      .altered(sequence: 7), .missing(sequence: 7), .outOfOrder(sequence: 7), .unexpected(sequence: 7),
      .removed(sequence: 7), .restored(sequence: 7), .forged(sequence: 7), .unsigned(sequence: 7),
      .signedByStranger(sequence: 7, keyID: "k"),
    ]
    for fault in faults {
      #expect(fault.sequence == 7)
      #expect("\(fault)".hasPrefix("event 7 "))
    }
    #expect(Set(faults.map(\.description)).count == faults.count)
  }

  private func log(of count: Int) -> [EventRecord] {
    var chain = EventChain()
    return (1...count).map { chain.append(.sample("event \($0)"), salt: .sample) }
  }

  /// Returns the fault that verification finds in a log of ten events that was tampered with.
  private func fault(after tamper: (inout [EventRecord]) -> Void) -> EventChainVerifier.Fault? {
    var records = log(of: 10)
    let head = EventChain.Head(sequence: 10, hash: records[9].hash)
    tamper(&records)
    do throws(EventChainVerifier.Fault) {
      var verifier = EventChainVerifier()
      for record in records { try verifier.verify(record) }
      try verifier.conclude(at: head)
      return nil
    } catch {
      return error
    }
  }
}

private let knownHash = "eae926677a8a4d2ace58e8990a251ef8a4d05f89a4a02d113a3e38b2169aff12"

extension UniqueID {
  fileprivate static let sample = UniqueID(high: 1, low: 2)
}

extension EventRecord {
  fileprivate mutating func alter(_ change: (inout EventDraft) -> Void) {
    guard case .whole(var event, let salt) = content else { return }
    change(&event)
    content = .whole(event, salt: salt)
  }
}

extension EventDraft {
  fileprivate static func sample(
    _ kind: String, profile: String = "alice", details: [EventDetail] = [EventDetail(key: "factor", value: "biometry")]
  ) -> EventDraft {
    EventDraft(
      time: UnixTime(seconds: 1_700_000_000), kind: kind, applicationID: "com.example.bank", profileID: profile,
      deviceID: "phone-1", bindingID: "b-1", caller: "spiffe://example.org/login", details: details)
  }
}
