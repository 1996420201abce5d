import Crypto
import Testing
import TouchstonePolicy

@testable import TouchstoneStore

/// R41: an attacker without an audit key cannot remove a content and account for it.
struct AccountSigningTests {
  /// A service's log, which signs the accounts that it appends. It also writes as an attacker with the database and
  /// without a key may.
  struct Log {
    var records: [EventRecord] = []
    private var chain = EventChain()
    private let signer = AccountSigner(review: .none)

    /// - Parameter key: `nil`: a log of before there were audit keys.
    init(of count: Int, key: TestAuditKey? = .service) throws {
      try signer.use(.of(key))
      if let beginning = signer.beginning(after: chain.head, at: time) {
        append(beginning)
        signer.noteSigned()
      }
      for number in 0..<count { append(EventDraft(time: time, kind: "login", applicationID: "\(number)", caller: "c")) }
    }

    mutating func append(_ event: EventDraft) {
      records.append(chain.append(event, salt: UniqueID(high: 1, low: UInt64(records.count))))
    }

    /// As a start appends it that found no signature.
    func beginning(by key: TestAuditKey) -> EventDraft {
      EventDraft.signing(at: time).signed(by: .of(key), after: chain.head)!
    }

    mutating func use(_ key: TestAuditKey) throws { try signer.use(.of(key)) }

    mutating func erase(_ sequence: UInt64) {
      blank(sequence)
      append(signer.account(account(for: sequence), after: chain.head)!)
    }

    mutating func blank(_ sequence: UInt64) { records[Int(sequence) - 1] = records[Int(sequence) - 1].erased() }

    func account(for sequence: UInt64) -> EventDraft {
      ProfileErasure(applicationID: "bank", profileID: "alice", time: time, caller: "c", reason: "test")
        .accounts(ofErased: [ErasedEvent(sequence: sequence, digest: records[Int(sequence) - 1].content.digest)])[0]
    }

    mutating func appendAccount(for sequence: UInt64, by key: TestAuditKey) {
      append(account(for: sequence).signed(by: .of(key), after: chain.head)!)
    }

    func fault(_ review: AccountReview) -> EventChainVerifier.Fault? {
      var reading = EventLogReading(keptAfter: .genesis, through: chain.head, accounts: review)
      reading.take(records)
      if reading.next != nil { reading.take([]) }
      return reading.fault
    }

    var review: AccountReview {
      var reading = EventLogReading(keptAfter: .genesis, through: chain.head, accounts: .strict(nil))
      reading.take(records)
      return reading.accounts
    }
  }

  @Test func whatTheServiceErasedVerifiesByItsKeysAlsoAfterARotation() throws {
    var log = try Log(of: 5)
    log.erase(3)
    try log.use(.next)
    log.erase(4)
    #expect(log.fault(.strict(by: .service, .next)) == nil)
    #expect(log.review.signedCount == 3)
    #expect(log.review.keyIDs == [TestAuditKey.service.keyID, TestAuditKey.next.keyID])
    // An auditor without the new key.
    #expect(
      log.fault(.strict(by: .service)) == .signedByStranger(sequence: log.last, keyID: TestAuditKey.next.keyID))
  }

  struct Forgery: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fault: EventChainVerifier.Fault
    let make: @Sendable (inout Log) -> Void

    init(_ description: String, _ fault: EventChainVerifier.Fault, _ make: @escaping @Sendable (inout Log) -> Void) {
      testDescription = description
      self.fault = fault
      self.make = make
    }
  }

  /// In a log of the beginning, five events and the account of event 3, which is event 7: event 4 loses its content.
  @Test(arguments: [
    Forgery("without a signature", .unsigned(sequence: 8)) { $0.append($0.account(for: 4)) },
    Forgery("by a key of one's own", .signedByStranger(sequence: 8, keyID: TestAuditKey.attacker.keyID)) {
      $0.appendAccount(for: 4, by: .attacker)
    },
    Forgery("in the name of the service's key", .forged(sequence: 8)) {
      $0.appendAccount(for: 4, by: TestAuditKey(keyID: TestAuditKey.service.keyID, secret: 9))
    },
    Forgery("with the signature of another account", .forged(sequence: 8)) { log in
      var account = log.account(for: 4)
      account.details += log.records[6].event!.details.filter { $0.key.hasPrefix("signature") }
      log.append(account)
    },
    Forgery("a replayed account of the same event", .forged(sequence: 8)) { log in
      log.append(log.records[6].event!)
    },
    Forgery("the account of another log at the same place", .forged(sequence: 8)) { log in
      var other = try! Log(of: 6)
      other.erase(4)
      log.append(other.records[7].event!)
    },
    Forgery("a signature that is none", .forged(sequence: 8)) { log in
      var account = log.account(for: 4)
      account.details.append(EventDetail(key: "signature", value: "00"))
      log.append(account)
    },
    Forgery("half of a signature", .forged(sequence: 8)) { log in
      var account = log.account(for: 4)
      account.details.append(EventDetail(key: "signature_key", value: TestAuditKey.service.keyID))
      log.append(account)
    },
    Forgery("no account at all", .removed(sequence: 4)) { _ in },
  ])
  func aForgedAccountIsNamed(_ forgery: Forgery) throws {
    var log = try Log(of: 5)
    log.erase(3)
    log.blank(4)
    forgery.make(&log)
    #expect(log.fault(.strict(by: .service)) == forgery.fault)
  }

  /// The beginning is signed, too: the first forged account already follows a signature.
  @Test func inALogWithoutErasuresTheFirstForgedAccountIsNamed() throws {
    var log = try Log(of: 5)
    log.blank(4)
    log.append(log.account(for: 4))
    #expect(log.fault(.strict(by: .service)) == .unsigned(sequence: 7))
    // And without the keys.
    #expect(log.fault(.strict(nil)) == .unsigned(sequence: 7))
  }

  @Test func withoutTheKeysItIsSaidWhatWasNotChecked() throws {
    var log = try Log(of: 5)
    log.blank(4)
    log.appendAccount(for: 4, by: .attacker)
    #expect(log.fault(.strict(nil)) == nil)
    #expect(log.review.keyIDs == [TestAuditKey.service.keyID, TestAuditKey.attacker.keyID])
    #expect(!log.review.hasKeys)
  }

  @Test func accountsOfBeforeThereWereKeysAreCounted() throws {
    var log = try Log(of: 5, key: nil)
    log.erase(3)
    try log.use(.service)
    log.erase(4)
    #expect(log.fault(.strict(by: .service)) == nil)
    #expect(log.review.unsignedCount == 1)
    #expect(log.review.firstUnsigned == 6)
    #expect(log.review.firstSigned == 7)
  }

  /// An attacker blanked the first signed event, and appended an unsigned account of it and more; the next start signed
  /// anew.
  @Test func theBoundaryThatWasNotedCannotBeMoved() throws {
    var log = try Log(of: 5)
    for sequence in [1, 4] as [UInt64] { log.blank(sequence) }
    for sequence in [1, 4] as [UInt64] { log.append(log.account(for: sequence)) }
    log.append(log.beginning(by: .service))
    // By itself the log looks as if there had been no key at first.
    #expect(log.fault(.strict(by: .service)) == nil)
    #expect(log.fault(.strict(by: .service, signedFrom: .event(1))) == .unsignedBeginning(sequence: 1))
    #expect(log.fault(.strict(by: .service, signedFrom: .beginning)) == .unsigned(sequence: 7))
    for noted in [2, 7, 8] as [UInt64] {
      #expect(log.fault(.strict(by: .service, signedFrom: .event(noted))) != nil)
    }
  }

  @Test func aLogFromBeforeThereWereKeysVerifiesByTheBoundaryThatWasNoted() throws {
    var log = try Log(of: 5, key: nil)
    log.erase(3)
    try log.use(.service)
    log.append(log.beginning(by: .service))
    log.erase(4)
    #expect(log.fault(.strict(by: .service, signedFrom: .event(7))) == nil)
    #expect(log.fault(.strict(by: .service, signedFrom: .event(8))) == nil)
    #expect(log.fault(.strict(by: .service, signedFrom: .beginning)) == .unsigned(sequence: 6))
    #expect(log.fault(.strict(by: .service, signedFrom: .event(5))) == .unsignedBeginning(sequence: 5))
    #expect(log.fault(.strict(by: .service, signedFrom: .event(6))) == .unsignedBeginning(sequence: 6))
  }

  @Test func aSignerThatLostItsKeyAppendsNothingUnsigned() throws {
    let signer = AccountSigner(review: try Log(of: 1).review)
    #expect(!signer.isReady(at: time))
    #expect(signer.account(try Log(of: 1).account(for: 1), after: .genesis) == nil)
    try signer.use(.of(.service))
    #expect(signer.isReady(at: time))
    // The log states it already.
    #expect(signer.beginning(after: .genesis, at: time) == nil)
  }

  /// A start reads the log before its keys. If it lacks the key of a signature, it leaves that one to the reading
  /// beside it.
  @Test func aStartRefusesAForgedAccountAndNotAnUnknownKey() throws {
    var log = try Log(of: 5)
    log.blank(4)
    log.appendAccount(for: 4, by: TestAuditKey(keyID: TestAuditKey.service.keyID, secret: 9))
    let signer = AccountSigner(review: log.collected)
    #expect(throws: StoreError.self) { try signer.use(.of(.service)) }
    try signer.use(.of(.next))
  }
}

private let time = UnixTime(seconds: 1_800_000_000)

extension AccountSigningTests.Log {
  fileprivate var last: UInt64 { records.last!.sequence }

  fileprivate var collected: AccountReview {
    var reading = EventLogReading(
      keptAfter: .genesis, through: EventChain.Head(sequence: last, hash: records.last!.hash), accounts: .collecting)
    reading.take(records)
    return reading.accounts
  }
}

/// A hash over a secret, in place of a signature.
struct TestAuditKey: Sendable {
  var keyID: String
  var secret: UInt8

  static let service = TestAuditKey(keyID: String(repeating: "S", count: 43), secret: 1)
  static let next = TestAuditKey(keyID: String(repeating: "N", count: 43), secret: 2)
  static let attacker = TestAuditKey(keyID: String(repeating: "A", count: 43), secret: 3)

  func sign(_ message: [UInt8]) -> AccountSignature? {
    let digest = Array(SHA256.hash(data: [secret] + message))
    return AccountSignature(keyID: keyID, bytes: digest + digest)
  }

  func check(_ signature: AccountSignature, _ message: [UInt8]) -> AccountKeys.Finding {
    guard signature.keyID == keyID else { return .unknownKey }
    return sign(message) == signature ? .valid : .forged
  }
}

extension AccountKeys {
  static func of(_ key: TestAuditKey?) -> AccountKeys {
    AccountKeys(
      sign: { message, _ in key?.sign(message) },
      check: { signature, message in key?.check(signature, message) ?? .unknownKey })
  }
}

extension AccountReview {
  fileprivate static func strict(by keys: TestAuditKey..., signedFrom: SignedFrom = .firstSignature) -> AccountReview {
    .strict(
      { signature, message in
        keys.first { $0.keyID == signature.keyID }?.check(signature, message) ?? .unknownKey
      }, signedFrom: signedFrom)
  }
}
