import Testing
import TouchstonePolicy

@testable import TouchstoneStore

/// R41: read in pages, all of a log or its latest part, it is what it was written or the first fault is named.
struct EventLogReadingTests {
  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Where all is read, and where the latest five of ten are.
    let fault: EventChainVerifier.Fault?
    let lateFault: EventChainVerifier.Fault?
    let make: @Sendable (inout [EventRecord?]) -> Void

    init(
      _ description: String, _ fault: EventChainVerifier.Fault?, late lateFault: EventChainVerifier.Fault?,
      _ make: @escaping @Sendable (inout [EventRecord?]) -> Void
    ) {
      testDescription = description
      self.fault = fault
      self.lateFault = lateFault
      self.make = make
    }
  }

  static let tamperings = [
    Tampering("nothing", nil, late: nil) { _ in },
    Tampering("an early one altered", .altered(sequence: 2), late: nil) { $0[1]?.hash[0] ^= 1 },
    Tampering("the one before the part altered", .altered(sequence: 5), late: .altered(sequence: 6)) {
      $0[4]?.hash[0] ^= 1
    },
    Tampering("the one before the part missing", .missing(sequence: 5), late: .missing(sequence: 5)) {
      $0.remove(at: 4)
    },
    Tampering("the one before the part unreadable", .altered(sequence: 5), late: .altered(sequence: 5)) {
      $0[4] = nil
    },
    Tampering("a late one altered", .altered(sequence: 8), late: .altered(sequence: 8)) { $0[7]?.hash[0] ^= 1 },
    Tampering("a late one unreadable", .altered(sequence: 8), late: .altered(sequence: 8)) { $0[7] = nil },
    Tampering("a late one missing", .missing(sequence: 8), late: .missing(sequence: 8)) { $0.remove(at: 7) },
    Tampering("a late content removed", .removed(sequence: 8), late: .removed(sequence: 8)) {
      $0[7] = $0[7]?.erased()
    },
    Tampering("an early content removed", .removed(sequence: 2), late: nil) { $0[1] = $0[1]?.erased() },
    Tampering("the last missing", .missing(sequence: 10), late: .missing(sequence: 10)) { $0.removeLast() },
    Tampering("all missing", .missing(sequence: 1), late: .missing(sequence: 5)) { $0.removeAll() },
  ]

  @Test(arguments: tamperings, [1, 3, 100])
  func theFirstFaultIsNamedWhateverThePages(_ tampering: Tampering, pageSize: Int) {
    let log = log(of: 10)
    let head = EventChain.Head(sequence: 10, hash: log[9].hash)
    var tampered: [EventRecord?] = log
    tampering.make(&tampered)
    #expect(fault(in: tampered, through: head, pageSize: pageSize) == tampering.fault)
    #expect(fault(in: tampered, through: head, maximumEvents: 5, pageSize: pageSize) == tampering.lateFault)
  }

  @Test func anEmptyLogIsReadWithoutAPage() {
    let reading = EventLogReading(keptAfter: .genesis, through: .genesis)
    #expect(reading.next == nil)
    #expect(reading.fault == nil)
    #expect(EventLogReading(keptAfter: .genesis, through: .genesis, outlier: 1).fault == .unexpected(sequence: 1))
  }

  @Test func aHeadBeforeTheKeptLogOrFarBeyondItIsAFault() {
    let log = log(of: 10)
    let heads = [0, 4, 11, UInt64(Int64.max), .max].map { EventChain.Head(sequence: $0, hash: log[9].hash) }
    let start = EventChain.Head(sequence: 5, hash: log[4].hash)
    for head in heads {
      #expect(fault(in: Array(log[5...]), after: start, through: head) != nil)
      #expect(fault(in: Array(log[5...]), after: start, through: head, maximumEvents: 3) != nil)
    }
  }

  /// It began while the log ended with event 10; the profile of event 2 was erased before event 2 was read.
  @Test func anErasureBesideAReadingIsNoTampering() {
    var log = log(of: 10)
    let head = EventChain.Head(sequence: 10, hash: log[9].hash)
    var chain = EventChain(continuing: head)
    log[1] = log[1].erased()
    let erasure = ProfileErasure(
      applicationID: "a", profileID: "p", time: UnixTime(seconds: 1), caller: "c", reason: "r")
    let erased = ErasedEvent(sequence: 2, digest: log[1].content.digest)
    for account in erasure.accounts(ofErased: [erased]) { log.append(chain.append(account, salt: .sample)) }
    for pageSize in [1, 3, 100] { #expect(fault(in: log, through: head, pageSize: pageSize) == nil) }
    #expect(fault(in: Array(log.dropLast()), through: head) == .removed(sequence: 2))
  }

  @Test func aBeginningThatNobodyArchivedIsMissedWhereAllIsRead() {
    let log = log(of: 10)
    let start = EventChain.Head(sequence: 3, hash: log[2].hash)
    let head = EventChain.Head(sequence: 10, hash: log[9].hash)
    #expect(fault(in: Array(log[3...]), after: start, through: head) == .dropped(through: 3))
    #expect(!EventLogReading(keptAfter: start, through: head, maximumEvents: 5).isOfAll)
  }

  private func log(of count: Int) -> [EventRecord] {
    var chain = EventChain()
    return (0..<count).map { number in
      let event = EventDraft(time: UnixTime(seconds: 1), kind: "event.\(number)", applicationID: "a", caller: "c")
      return chain.append(event, salt: .sample)
    }
  }

  /// `log`: as a store hands it out; a row that cannot be read has the number behind the one before it.
  private func fault(
    in log: [EventRecord?], after start: EventChain.Head = .genesis, through head: EventChain.Head,
    maximumEvents: UInt64 = .max, pageSize: Int = 100
  ) -> EventChainVerifier.Fault? {
    var numbered: [(sequence: UInt64, event: EventRecord?)] = []
    for event in log { numbered.append((event?.sequence ?? (numbered.last?.sequence ?? 0) + 1, event)) }
    var reading = EventLogReading(keptAfter: start, through: head, maximumEvents: maximumEvents)
    while let next = reading.next {
      reading.take(numbered.filter { $0.sequence > next }.prefix(pageSize).map(\.event))
    }
    return reading.fault
  }
}

extension UniqueID {
  fileprivate static let sample = UniqueID(high: 1, low: 2)
}
