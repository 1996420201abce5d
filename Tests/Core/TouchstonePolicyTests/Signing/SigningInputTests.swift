import TestSupport
import Testing
import TouchstonePolicy

@Suite struct SigningInputTests {
  private static let payment = EvaluationTerms(
    challenge: [0x00, 0xFF], applicationID: "shop", bindingID: "b-1", policyName: "payment", purpose: .payment,
    transaction: Transaction(amount: "12.50", currency: "CNY", payee: "茶", reference: "order-1"))

  /// Bytes as a table: what a length covers stands behind it.
  private static func bytes(_ parts: (UInt8, [UInt8])...) -> [UInt8] {
    parts.flatMap { [0, 0, 0, $0.0] + $0.1 }
  }

  @Test("R38: a transaction's canonical bytes, one by one")
  func transactionBytes() {
    #expect(
      Self.payment.transaction!.canonicalBytes
        == Self.bytes(
          (25, [UInt8]("touchstone transaction v1".utf8)), (5, [UInt8]("12.50".utf8)), (3, [UInt8]("CNY".utf8)),
          (3, [0xE8, 0x8C, 0xB6]), (7, [UInt8]("order-1".utf8))))
  }

  @Test("R33: an evaluation's signing input, one by one")
  func evaluationBytes() {
    let transaction = Self.payment.transaction!.canonicalBytes
    #expect(transaction.count == 63)
    #expect(
      Self.payment.signingInput
        == Self.bytes(
          (24, [UInt8]("touchstone evaluation v1".utf8)), (2, [0x00, 0xFF]), (4, [UInt8]("shop".utf8)),
          (3, [UInt8]("b-1".utf8)), (7, [UInt8]("payment".utf8)), (1, [2]), (63, transaction)))

    var login = Self.payment
    (login.policyName, login.purpose, login.transaction) = ("login", .login, nil)
    #expect(
      login.signingInput
        == Self.bytes(
          (24, [UInt8]("touchstone evaluation v1".utf8)), (2, [0x00, 0xFF]), (4, [UInt8]("shop".utf8)),
          (3, [UInt8]("b-1".utf8)), (5, [UInt8]("login".utf8)), (1, [1]), (0, [])))
  }

  @Test("R28: a binding's signing input, one by one")
  func bindingBytes() {
    let terms = BindingTerms(challenge: [1, 2, 3], applicationID: "shop", profileID: "alice", deviceID: "phone")
    #expect(
      terms.signingInput
        == Self.bytes(
          (21, [UInt8]("touchstone binding v1".utf8)), (3, [1, 2, 3]), (4, [UInt8]("shop".utf8)),
          (5, [UInt8]("alice".utf8)), (5, [UInt8]("phone".utf8))))
  }

  @Test("R33: a length of more than one byte")
  func longField() {
    var terms = Self.payment
    terms.bindingID = String(repeating: "b", count: 0x1_02_03)
    let head = Self.bytes((24, [UInt8]("touchstone evaluation v1".utf8)), (2, [0x00, 0xFF]), (4, [UInt8]("shop".utf8)))
    #expect(terms.signingInput.dropFirst(head.count).prefix(5) == [0, 1, 2, 3, UInt8(ascii: "b")])
  }

  @Test("R33: every field is covered")
  func everyFieldCounts() {
    let changes: [(inout EvaluationTerms) -> Void] = [
      { $0.challenge = [0x00, 0xFE] }, { $0.challenge = [0x00] }, { $0.applicationID = "bank" },
      { $0.bindingID = "b-2" }, { $0.policyName = "login" }, { $0.purpose = .login }, { $0.transaction = nil },
      { $0.transaction!.amount = "12.51" }, { $0.transaction!.currency = "USD" }, { $0.transaction!.payee = "茶馆" },
      { $0.transaction!.reference = "order-2" },
      // Moved from one field to the next, or written with other code points.
      { ($0.applicationID, $0.bindingID) = ("sho", "pb-1") }, { ($0.applicationID, $0.bindingID) = ("shopb-1", "") },
      { ($0.transaction!.payee, $0.transaction!.reference) = ("茶o", "rder-1") },
      { $0.applicationID = "caf\u{E9}" }, { $0.applicationID = "cafe\u{301}" },
    ]
    let inputs = changes.map { change in
      var terms = Self.payment
      change(&terms)
      return terms.signingInput
    }
    #expect(Set(inputs + [Self.payment.signingInput]).count == changes.count + 1)
  }

  @Test(
    "R33: random terms from few letters: the bytes read back as exactly those terms",
    arguments: 1...8 as ClosedRange<UInt64>)
  func injective(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func text() -> String {
      String(
        (0..<Int.random(in: 0...3, using: &random)).map { _ in ["a", "b", "\u{0}", "é"].randomElement(using: &random)! }
      )
    }
    var seen: [[UInt8]: [[UInt8]]] = [:]
    for _ in 0..<200 {
      let transaction =
        Bool.random(using: &random)
        ? Transaction(amount: text(), currency: text(), payee: text(), reference: text()) : nil
      let terms = EvaluationTerms(
        challenge: [UInt8](text().utf8), applicationID: text(), bindingID: text(), policyName: text(),
        purpose: Bool.random(using: &random) ? .login : .payment, transaction: transaction)
      let fields: [[UInt8]] = [
        [UInt8]("touchstone evaluation v1".utf8), terms.challenge, [UInt8](terms.applicationID.utf8),
        [UInt8](terms.bindingID.utf8), [UInt8](terms.policyName.utf8), [terms.purpose.rawValue],
        transaction?.canonicalBytes ?? [],
      ]
      #expect(readFields(terms.signingInput) == fields)
      let known = seen.updateValue(fields, forKey: terms.signingInput)
      #expect(known == nil || known == fields)
      if let transaction {
        let texts = [transaction.amount, transaction.currency, transaction.payee, transaction.reference]
        #expect(readFields(transaction.canonicalBytes)?.dropFirst() == texts.map { [UInt8]($0.utf8) }[...])
      }
    }
  }

  @Test("R28, R33: no kind's bytes are another's, whatever the fields hold")
  func kindsApart() {
    let binding = BindingTerms(challenge: [1], applicationID: "a", profileID: "p", deviceID: "d").signingInput
    let evaluation = Self.payment.signingInput
    let transaction = Self.payment.transaction!.canonicalBytes
    let tags = [binding, evaluation, transaction].map { readFields($0)!.first! }
    #expect(Set(tags).count == 3)
  }

  /// The fields of a canonical encoding; `nil` where it does not read to its end.
  private func readFields(_ bytes: [UInt8]) -> [[UInt8]]? {
    var rest = bytes[...]
    var fields: [[UInt8]] = []
    while !rest.isEmpty {
      let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard length <= rest.count else { return nil }
      fields.append([UInt8](rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return fields
  }
}
