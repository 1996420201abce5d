import Testing
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Sealed content comes back as it was, to the caller for which it was sealed, or not at all.
struct SealedContentTests {
  private static let applicationID = "com.example.bank"
  private static let now = UnixTime(seconds: 1_800_000_000)
  private static let lineage = Lineage(rawValue: .max)
  private let sealer = ContentSealer(Sealer(keys: SealingKeys(active: .random())), in: Self.lineage)

  private static let key = ExpiringKey(
    expiresAt: UnixTime(microseconds: 1_700_000_120_000_001), id: UniqueID(high: .max, low: 1))
  private static let transaction = Transaction(
    amount: "12.50", currency: "CNY", payee: "Crème & Söhne 面馆", reference: "order-1")

  /// Every subject, and every optional field absent, empty and given, beside each of the others' forms.
  private static let evaluations: [SealedEvaluation] = {
    let titles: [String?] = [nil, "", "输入密码"]
    let forms = titles.flatMap { fallback in
      titles.map { EvaluationPolicy.Titles(fallback: fallback, cancel: $0) }
    }
    let subjects: [EvaluationSubject] = [.binding("b-1"), .profile("алиса"), .bearer]
    return subjects.flatMap { subject in
      [nil, transaction].flatMap { transaction in
        forms.map { titles in
          SealedEvaluation(
            key: key, challenge: Array(0..<32), policyName: "login", policyRevision: .max, subject: subject,
            transaction: transaction, prompt: Prompt(localizedReason: "Log in", titles: titles))
        }
      }
    }
  }()

  /// The edges of each field's range.
  private static let extremes: [SealedEvaluation] = [
    SealedEvaluation(
      key: ExpiringKey(expiresAt: UnixTime(microseconds: .min), id: UniqueID(high: .max << 32, low: .max)),
      challenge: [],
      policyName: "", policyRevision: 0, subject: .binding(""), transaction: nil,
      prompt: Prompt(localizedReason: "", titles: EvaluationPolicy.Titles())),
    SealedEvaluation(
      key: ExpiringKey(expiresAt: UnixTime(microseconds: -1), id: UniqueID(high: .max, low: 0)),
      challenge: [UInt8](repeating: 0xFF, count: 1_000), policyName: "e\u{301}", policyRevision: 1 << 63,
      subject: .profile(String(repeating: "x", count: 128)), transaction: transaction,
      prompt: Prompt(localizedReason: String(repeating: "指", count: 170), titles: EvaluationPolicy.Titles())),
  ]

  private let ticket = SealedTicket(
    key: key, challenge: Array(0..<32), profileID: "алиса", deviceID: String(repeating: "d", count: 128),
    holder: .known(incarnation: 1 << 62))

  // R34
  @Test func anEvaluationIsOpenedAsItWasSealed() throws {
    for evaluation in Self.evaluations + Self.extremes {
      let sealed = sealer.seal(evaluation, for: .local, applicationID: Self.applicationID, at: Self.now)
      let opened = try #require(sealer.openEvaluation(sealed, for: .local, applicationID: Self.applicationID))
      #expect(opened == evaluation)
      // `==` on String takes "é" composed and decomposed for the same.
      #expect(opened.policyName.utf8.elementsEqual(evaluation.policyName.utf8))
      #expect(opened.signingInput(for: .login) == evaluation.signingInput(for: .login))
    }
  }

  // R28
  @Test(arguments: [SealedTicket.Holder.known(incarnation: 1 << 62), .new(erasureMark: 0), .new(erasureMark: .max)])
  func aTicketIsOpenedAsItWasSealed(_ holder: SealedTicket.Holder) {
    var ticket = ticket
    ticket.holder = holder
    let sealed = sealer.seal(ticket, for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(sealer.openTicket(sealed, for: .local, applicationID: Self.applicationID) == ticket)
  }

  // R28, R34
  @Test(arguments: [
    (Caller.local, "com.example.shop"), (Caller(identity: "another"), applicationID), (.local, ""),
    // The end of one name moves to the front of the next: lengths are part of the context.
    (Caller(identity: "localc"), "om.example.bank"),
  ])
  func nobodyElseOpensIt(_ caller: Caller, _ applicationID: String) {
    let evaluation = sealer.seal(Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(sealer.openEvaluation(evaluation, for: caller, applicationID: applicationID) == nil)
    let ticket = sealer.seal(ticket, for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(sealer.openTicket(ticket, for: caller, applicationID: applicationID) == nil)
  }

  // R28, R34
  @Test func theOneIsNeverTakenForTheOther() {
    let evaluation = sealer.seal(Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(sealer.openTicket(evaluation, for: .local, applicationID: Self.applicationID) == nil)
    let ticket = sealer.seal(ticket, for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(sealer.openEvaluation(ticket, for: .local, applicationID: Self.applicationID) == nil)
  }

  // R34
  @Test func anotherInstallationsKeyOpensNothing() {
    let sealed = sealer.seal(Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    let other = ContentSealer(Sealer(keys: SealingKeys(active: .random())), in: Self.lineage)
    #expect(other.openEvaluation(sealed, for: .local, applicationID: Self.applicationID) == nil)
  }

  // R28, R34, R35
  @Test func whatWasSealedBeforeARestorationOpensNoMore() {
    let keys = SealingKeys(active: .random())
    let before = ContentSealer(Sealer(keys: keys), in: Self.lineage)
    let after = ContentSealer(Sealer(keys: keys), in: Lineage(rawValue: Self.lineage.rawValue - 1))
    let evaluation = before.seal(
      Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(after.openEvaluation(evaluation, for: .local, applicationID: Self.applicationID) == nil)
    let ticket = before.seal(ticket, for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(after.openTicket(ticket, for: .local, applicationID: Self.applicationID) == nil)
  }

  // R34
  @Test func noByteCanBeChangedDroppedOrAdded() {
    let sealed = sealer.seal(Self.extremes[1], for: .local, applicationID: Self.applicationID, at: Self.now)
    var forgeries = sealed.indices.map { index in
      var forgery = sealed
      forgery[index] ^= 1 << UInt8(index % 8)
      return forgery
    }
    forgeries += sealed.indices.map { Array(sealed[..<$0]) }
    forgeries.append(sealed + [0])
    for (number, forgery) in forgeries.enumerated() {
      let opened = sealer.openEvaluation(forgery, for: .local, applicationID: Self.applicationID)
      #expect(opened == nil, "forgery \(number)")
    }
  }

  // R34
  @Test func sealingTwiceShowsNothingInCommon() {
    let first = sealer.seal(Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    let second = sealer.seal(Self.evaluations[0], for: .local, applicationID: Self.applicationID, at: Self.now)
    #expect(first != second)
    #expect(!first.contains(Array("login".utf8)))
  }
}

extension SealedEvaluation {
  fileprivate func signingInput(for purpose: EvaluationPolicy.Purpose) -> [UInt8] {
    let policy = EvaluationPolicy(
      name: policyName, purpose: purpose, factors: [.biometry], tokenLifetime: nil)
    return signingInput(applicationID: "com.example.bank", policy: policy)
  }
}
