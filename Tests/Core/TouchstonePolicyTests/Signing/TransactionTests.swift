import Testing
import TouchstonePolicy

@Suite struct TransactionTests {
  private static let valid = Transaction(amount: "12.50", currency: "CNY", payee: "Tea House", reference: "order-1")

  private static func with(_ change: (inout Transaction) -> Void) -> Transaction {
    var transaction = valid
    change(&transaction)
    return transaction
  }

  @Test(
    "R38: amounts are plain decimals",
    arguments: [
      "12.50", "1", "1200", "0.01", "10", "0.10", "9999.00", "123456789012345678", "1234567890123456.78",
      "0.12345678901234567",
    ])
  func amounts(amount: String) {
    #expect(Self.with { $0.amount = amount }.violations() == [])
  }

  @Test(
    "R38: all else is no amount",
    arguments: [
      "", ".", "12.", ".50", "1.2.3", "1..2", "-1", "+1", "1e3", "1E3", "0x10", "1,000", "12,50", " 1", "1 ", "1 000",
      "１２", "١٢", "1\u{0}", "NaN", "inf", "1.-5",
    ])
  func noAmounts(amount: String) {
    let violation = Self.with { $0.amount = amount }.violations().first
    #expect(violation == FieldViolation(field: "amount", reason: "is not a plain decimal such as 12.50"))
  }

  @Test("R38: at most 18 digits", arguments: ["1234567890123456789", "12345678901234567.89", "0.0000000000000000001"])
  func tooManyDigits(amount: String) {
    let violation = Self.with { $0.amount = amount }.violations().first
    #expect(violation == FieldViolation(field: "amount", reason: "has more than 18 digits"))
  }

  @Test(
    "R38: more than zero, and written in one way",
    arguments: [
      ("0", "is not more than zero"), ("0.00", "is not more than zero"),
      ("007.5", "begins with a zero that means nothing"),
      ("00", "begins with a zero that means nothing"), ("01", "begins with a zero that means nothing"),
    ])
  func noSum(amount: String, reason: String) {
    #expect(Self.with { $0.amount = amount }.violations().first == FieldViolation(field: "amount", reason: reason))
  }

  @Test("R38: currencies", arguments: ["", "CN", "CNYY", "cny", "Cny", "C1Y", "CN ", "ÇNY", "元", "CN\u{0}"])
  func noCurrencies(currency: String) {
    #expect(Self.with { $0.currency = currency }.violations().map(\.field) == ["currency"])
  }

  @Test(
    "R38: payee and reference",
    arguments: [
      ("Tea House", "order-1", nil), ("茶馆", "1", nil), ("", "1", "payee is empty"), ("x", "", "reference is empty"),
      ("a\nb", "1", "payee has U+000A, which no person sees there, or which turns the direction of the text"),
      ("x", "\u{202E}a", "reference has U+202E, which no person sees there, or which turns the direction of the text"),
      (String(repeating: "é", count: 128), String(repeating: "r", count: 128), nil),
      (String(repeating: "é", count: 128) + "x", "1", "payee must be 1 to 256 bytes, is 257"),
      ("x", String(repeating: "r", count: 129), "reference must be 1 to 128 bytes, is 129"),
    ] as [(String, String, String?)])
  func texts(payee: String, reference: String, expected: String?) {
    let violation = Self.with { ($0.payee, $0.reference) = (payee, reference) }.violations().first
    #expect(violation.map { "\($0.field) \($0.reason)" } == expected)
  }

  @Test("R38: every field that is wrong is named")
  func everyViolation() {
    let violations = Transaction(amount: "", currency: "", payee: "", reference: "").violations()
    #expect(violations.map(\.field) == ["amount", "currency", "payee", "reference"])
  }

  @Test("R39: equal is byte for byte")
  func equality() {
    #expect(Self.valid == Self.with { _ in })
    let others = [
      Self.with { $0.amount = "12.5" }, Self.with { $0.amount = "012.50" }, Self.with { $0.currency = "USD" },
      Self.with { $0.payee = "tea house" }, Self.with { $0.reference = "order-2" },
    ]
    #expect(!others.contains(Self.valid))
    #expect(Set(others).union([Self.valid]).count == 6)
    #expect(Self.with { $0.payee = "Caf\u{E9}" } != Self.with { $0.payee = "Cafe\u{301}" })
  }
}
