/// The payment that a person approves (R38), as the device shows it. Two are equal only if every byte is: "12.5"
/// differs from "12.50" (R39).
public struct Transaction: Sendable, Hashable {
  /// "12.50" or "1200": digits, at most one point with digits on both sides of it; more than zero. The part before the
  /// point is "0" or does not begin with "0".
  public var amount: String
  /// ISO 4217, three upper-case letters: "CNY".
  public var currency: String
  /// The recipient, as the device shows it.
  public var payee: String
  /// The caller's own reference, unique to this payment.
  public var reference: String

  /// Digits before and after the point: as many as 64 bits always hold.
  public static let maximumAmountDigits = 18
  /// In bytes of UTF-8: four lines on a phone.
  public static let maximumPayeeBytes = 256
  /// In bytes of UTF-8: as long as any identifier.
  public static let maximumReferenceBytes = Identifier.maximumBytes

  public init(amount: String, currency: String, payee: String, reference: String) {
    self.amount = amount
    self.currency = currency
    self.payee = payee
    self.reference = reference
  }

  /// The payment of these `canonicalBytes`; `nil` for any other bytes.
  public init?(canonicalBytes: [UInt8]) {
    var reader = CanonicalBytesReader(canonicalBytes)
    guard reader.readText() == Self.tag.description, let amount = reader.readText(), let currency = reader.readText(),
      let payee = reader.readText(), let reference = reader.readText(), reader.isAtEnd
    else { return nil }
    self.init(amount: amount, currency: currency, payee: payee, reference: reference)
  }

  private static let tag: StaticString = "touchstone transaction v1"

  /// Five fields, each 4 bytes of length (big-endian) and then its UTF-8: the tag `touchstone transaction v1`, amount,
  /// currency, payee, reference. Never empty.
  public var canonicalBytes: [UInt8] {
    var encoding = CanonicalBytes(
      tag: Self.tag, capacity: 64 + payee.utf8.count + reference.utf8.count)
    encoding.append(amount)
    encoding.append(currency)
    encoding.append(payee)
    encoding.append(reference)
    return encoding.bytes
  }

  /// The wrong fields; none for a transaction that can be approved.
  public func violations() -> [FieldViolation] {
    var violations: [FieldViolation] = []
    func refuse(_ field: String, _ reason: String) {
      violations.append(FieldViolation(field: field, reason: reason))
    }
    if let reason = Self.amountViolation(amount) { refuse("amount", reason) }
    let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
    if currency.utf8.count != 3 || !currency.utf8.allSatisfy(letters.contains) {
      refuse("currency", "is not three upper-case letters (ISO 4217)")
    }
    if let reason = VisibleText.violation(in: payee, bytes: 1...Self.maximumPayeeBytes) {
      refuse("payee", reason)
    }
    if let reason = VisibleText.violation(in: reference, bytes: 1...Self.maximumReferenceBytes) {
      refuse("reference", reason)
    }
    return violations
  }

  public static func == (left: Transaction, right: Transaction) -> Bool {
    Identifier.areEqual(left.amount, right.amount) && Identifier.areEqual(left.currency, right.currency)
      && Identifier.areEqual(left.payee, right.payee) && Identifier.areEqual(left.reference, right.reference)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(canonicalBytes)
  }

  private static func amountViolation(_ amount: String) -> String? {
    let parts = amount.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(digits.contains) }) else {
      return "is not a plain decimal such as 12.50"
    }
    guard parts[0].first != UInt8(ascii: "0") || parts[0].count == 1 else {
      return "begins with a zero that means nothing"
    }
    guard parts.contains(where: { $0.contains { $0 != UInt8(ascii: "0") } }) else { return "is not more than zero" }
    guard parts.reduce(0, { $0 + $1.count }) <= maximumAmountDigits else {
      return "has more than \(maximumAmountDigits) digits"
    }
    return nil
  }
}

/// A wrong field of a transaction.
public struct FieldViolation: Sendable, Hashable {
  /// Its name in the protocol: "currency".
  public var field: String
  /// A text to follow the field's name: "is empty".
  public var reason: String

  public init(field: String, reason: String) {
    self.field = field
    self.reason = reason
  }
}
