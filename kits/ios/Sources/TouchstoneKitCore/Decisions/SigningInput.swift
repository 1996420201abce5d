// Takes apart the bytes that a key is to sign (docs/SIGNING.md). The signature approves this content, so the app signs
// nothing that it cannot read, and nothing about another app, binding, policy or payment.

/// A refusal of the kit. The kits for all platforms have the same codes.
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// A word such as "other-application", for logs and for `switch`.
  public let code: String

  public init(_ code: String) {
    self.code = code
  }

  public var description: String { "refused: \(code)" }
}

/// The content of a signing input that is whole and the app's own.
public struct SigningInput: Hashable, Sendable {
  public var challenge: Data
  public var application: String
  /// Only a binding has both.
  public var profile, device: String?
  /// Only an evaluation has both.
  public var binding, policy: String?
  /// Only an evaluation that approves a payment has one.
  public var payment: Payment?

  /// A message of the service is shorter.
  static let maximumBytes = 4_096

  /// Takes apart the bytes that new keys sign.
  /// - Parameters:
  ///   - profile: `nil`: the app does not know the account's name at the service.
  ///   - told: the ticket's challenge; `nil`: the backend did not send it.
  /// - Throws: ``Refusal``
  public static func ofBinding(
    _ bytes: Data, application: String, profile: String?, device: String, challenge told: Data?
  ) throws -> SigningInput {
    let fields = try read(bytes, tag: "touchstone binding v1", count: 5)
    let (signed, account, phone) = (try text(fields[2]), try text(fields[3]), try text(fields[4]))
    try require(signed, application, "other-application")
    if let profile { try require(account, profile, "other-profile") }
    try require(phone, device, "other-device")
    if let told, fields[1] != Array(told) { throw Refusal("other-challenge") }
    return SigningInput(challenge: Data(fields[1]), application: signed, profile: account, device: phone)
  }

  /// Takes apart the bytes that a binding's key signs.
  /// - Parameters:
  ///   - policy: the one that the app asked for.
  ///   - shown: the payment that the person sees; `nil`: they see none, and log in.
  ///   - told: the challenge at the evaluation's first attempt; `nil`: this is the first one.
  /// - Throws: ``Refusal``
  public static func ofEvaluation(
    _ bytes: Data, application: String, binding: String, policy: String, shown: Payment?, challenge told: Data?
  ) throws -> SigningInput {
    let fields = try read(bytes, tag: "touchstone evaluation v1", count: 7)
    let (signed, phone, signedPolicy) = (try text(fields[2]), try text(fields[3]), try text(fields[4]))
    try require(signed, application, "other-application")
    try require(phone, binding, "other-binding")
    try require(signedPolicy, policy, "other-policy")
    if let told, fields[1] != Array(told) { throw Refusal("other-challenge") }
    var payment: Payment?
    switch fields[5] {
    case [1]:
      guard fields[6].isEmpty else { throw Refusal("transaction-in-login") }
      guard shown == nil else { throw Refusal("not-a-payment") }
    case [2]:
      payment = try Payment(signed: fields[6])
      guard let shown else { throw Refusal("transaction-not-shown") }
      guard shown.bytes == fields[6] else { throw Refusal("other-transaction") }
    default: throw Refusal("unknown-purpose")
    }
    return SigningInput(
      challenge: Data(fields[1]), application: signed, binding: phone, policy: policy, payment: payment)
  }

  private static func read(_ bytes: Data, tag: String, count: Int) throws -> [[UInt8]] {
    guard bytes.count <= maximumBytes else { throw Refusal("too-long") }
    let (fields, rest) = Fields.decode(Array(bytes))
    guard let first = fields.first else { throw Refusal("truncated") }
    guard first == Array(tag.utf8) else { throw Refusal("wrong-tag") }
    guard rest.isEmpty else { throw Refusal(fields.count < count ? "truncated" : "leftover-bytes") }
    guard fields.count == count else { throw Refusal("field-count") }
    guard fields[1].count == 32 else { throw Refusal("wrong-challenge-length") }
    return fields
  }

  /// Compares bytes: Swift's `==` takes two encodings of "é" for the same text.
  private static func require(_ signed: String, _ own: String, _ code: String) throws {
    guard signed.utf8.elementsEqual(own.utf8) else { throw Refusal(code) }
  }
}

private func text(_ bytes: [UInt8]) throws -> String {
  let text = String(decoding: bytes, as: UTF8.self)
  // Bytes that are not UTF-8 were replaced.
  guard text.utf8.elementsEqual(bytes) else { throw Refusal("not-utf8") }
  return text
}

/// A payment, as the app shows it to the person. The service compares bytes: "12.5" is not "12.50".
public struct Payment: Codable, Hashable, Sendable {
  public var amount, currency, payee, reference: String

  public init(amount: String, currency: String, payee: String, reference: String) {
    (self.amount, self.currency, self.payee, self.reference) = (amount, currency, payee, reference)
  }

  static let tag = "touchstone transaction v1"

  /// The last field of a payment's signing input.
  var bytes: [UInt8] {
    Fields.encode(Self.tag, [amount, currency, payee, reference].map { Array($0.utf8) })
  }

  fileprivate init(signed bytes: [UInt8]) throws {
    let (fields, rest) = Fields.decode(bytes)
    guard fields.count == 5, rest.isEmpty, fields[0] == Array(Self.tag.utf8) else {
      throw Refusal("malformed-transaction")
    }
    self.init(
      amount: try text(fields[1]), currency: try text(fields[2]), payee: try text(fields[3]),
      reference: try text(fields[4]))
    guard amount.isAmount else { throw Refusal("wrong-amount") }
    guard currency.utf8.count == 3, currency.utf8.allSatisfy({ (65...90).contains($0) }) else {
      throw Refusal("wrong-currency")
    }
    // The service's bounds.
    guard (1...256).contains(payee.utf8.count), (1...128).contains(reference.utf8.count) else {
      throw Refusal("wrong-length")
    }
    try payee.requirePlain()
    try reference.requirePlain()
  }
}

extension String {
  /// More than zero, at most 18 digits, a point between digits at most, and no zero that means nothing.
  fileprivate var isAmount: Bool {
    let parts = utf8.split(separator: 46, omittingEmptySubsequences: false)
    let digits = utf8.filter { (48...57).contains($0) }
    return parts.count <= 2 && parts.allSatisfy { !$0.isEmpty } && digits.count == utf8.count - parts.count + 1
      && digits.count <= 18 && digits.contains { $0 != 48 } && (parts[0].count == 1 || parts[0].first != 48)
  }
}

extension String? {
  /// The text, if a person may be shown it: it has at most this many bytes, and all of them are seen.
  func legible(upTo bytes: Int) -> String? {
    flatMap { (1...bytes).contains($0.utf8.count) && (try? $0.requirePlain()) != nil ? $0 : nil }
  }
}

extension Presentation {
  /// The texts that a person may be shown, within the service's bounds. A backend could send others.
  public var legible: Presentation {
    var texts = self
    texts.localizedReason = localizedReason.legible(upTo: 512)
    (texts.fallbackTitle, texts.cancelTitle) = (fallbackTitle.legible(upTo: 128), cancelTitle.legible(upTo: 128))
    return texts
  }
}

extension String {
  /// Marks, embeddings, overrides and isolates: with one, a text looks like another text (Unicode, UAX #9).
  private static let turning: [ClosedRange<UInt32>] = [
    0x61C...0x61C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069,
  ]
  /// Characters that show nothing, so that two texts look alike.
  private static let hidden: [ClosedRange<UInt32>] = [
    0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x115F...0x1160, 0x17B4...0x17B5, 0x180E...0x180E,
    0x200B...0x200B, 0x2028...0x2029, 0x2060...0x2064, 0x206A...0x206F, 0x2800...0x2800, 0x3164...0x3164,
    0xFEFF...0xFEFF, 0xFFA0...0xFFA0, 0xFFF9...0xFFFB,
  ]

  /// Checks that a person sees all of the text, in its order.
  func requirePlain() throws {
    for (ranges, code) in [(Self.turning, "text-reorders"), (Self.hidden, "text-hidden")]
    where unicodeScalars.contains(where: { scalar in ranges.contains { $0.contains(scalar.value) } }) {
      throw Refusal(code)
    }
  }
}

/// The encoding of all that is signed: each field is four bytes of length, big-endian, and then that many bytes.
enum Fields {
  static func encode(_ tag: String, _ fields: [[UInt8]]) -> [UInt8] {
    ([Array(tag.utf8)] + fields).reduce(into: []) { bytes, field in
      withUnsafeBytes(of: UInt32(field.count).bigEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: field)
    }
  }

  /// Returns the whole fields, and the bytes after them.
  static func decode(_ bytes: [UInt8]) -> (fields: [[UInt8]], rest: ArraySlice<UInt8>) {
    var fields: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 4 {
      let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard count <= rest.count - 4 else { break }
      fields.append(Array(rest.dropFirst(4).prefix(count)))
      rest = rest.dropFirst(4 + count)
    }
    return (fields, rest)
  }
}
