// The contents that the service hands out sealed, instead of storing them: an evaluation (R34) and a binding ticket
// (R28).
//
// The format is the service's own and never leaves it in the clear: fields in a fixed order, each variable one behind
// its length in 4 bytes, big-endian. Only authentic bytes are ever parsed.

internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// An open evaluation, as it travels with the caller.
struct SealedEvaluation: Hashable {
  /// Its identity in the store, once an attempt was made.
  var key: ExpiringKey
  /// 32 random bytes.
  var challenge: [UInt8]
  var policyName: String
  var policyRevision: UInt64
  var subject: EvaluationSubject
  var transaction: Transaction?
  var prompt: Prompt

  /// For `purpose`, which the signature covers, see `EvaluationPolicy`.
  func signingInput(applicationID: String, policy: EvaluationPolicy) -> [UInt8] {
    EvaluationTerms(
      challenge: challenge, applicationID: applicationID, bindingID: subject.bindingID ?? "", policyName: policyName,
      purpose: policy.purpose, transaction: transaction
    ).signingInput
  }
}

/// The texts that the person is shown (R18).
struct Prompt: Hashable {
  var localizedReason: String
  /// As the app asks for them.
  var titles: EvaluationPolicy.Titles
}

/// Leave to bind one device to one profile.
struct SealedTicket: Hashable {
  var key: ExpiringKey
  /// 32 random bytes.
  var challenge: [UInt8]
  var profileID: String
  var deviceID: String
  /// A passkey may be registered that a password manager made by itself (conditional create).
  var isConditional = false
  var holder: Holder

  /// Whom the leave was given to: the profile that has this id may be another one by the time it is used.
  enum Holder: Hashable {
    case known(incarnation: UInt64)
    /// It had no record. An erasure of it raises its mark (`ProfileRecord.erasureMarkID`).
    case new(erasureMark: RecordVersion)

    init(_ records: HolderRecords) {
      let profile = records.profile
      self =
        profile.version > 0
        ? .known(incarnation: profile.incarnation) : .new(erasureMark: records.erasureMark.version)
    }

    func isThere(in records: HolderRecords) -> Bool {
      switch self {
      case .known(let incarnation): records.profile.version > 0 && records.profile.incarnation == incarnation
      case .new(let erasureMark): records.erasureMark.version == erasureMark
      }
    }

    /// Requires that it is there, as it was read.
    func requirement(in records: HolderRecords) -> Change {
      switch self {
      case .known: .require(records.profile)
      case .new: .require(records.erasureMark)
      }
    }
  }

  func signingInput(applicationID: String) -> [UInt8] {
    BindingTerms(challenge: challenge, applicationID: applicationID, profileID: profileID, deviceID: deviceID)
      .signingInput
  }
}

/// Seals for one caller and one application: opened for any other, the bytes are not authentic. Content that was sealed
/// before the store was restored from a backup does not open either.
struct ContentSealer: Sendable {
  private let sealer: Sealer
  private let lineage: Lineage

  private enum Kind: UInt8 {
    case evaluation = 1
    case ticket
    case console
  }

  init(_ sealer: Sealer, in lineage: Lineage) {
    self.sealer = sealer
    self.lineage = lineage
  }

  func seal(
    _ evaluation: SealedEvaluation, for caller: Caller, applicationID: String, at time: UnixTime
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(evaluation.key)
    writer.write(evaluation.challenge)
    writer.write(evaluation.policyName)
    writer.write(evaluation.policyRevision)
    writer.write(evaluation.subject)
    writer.write(optional: evaluation.transaction) { writer, transaction in
      writer.write(transaction.amount)
      writer.write(transaction.currency)
      writer.write(transaction.payee)
      writer.write(transaction.reference)
    }
    writer.write(evaluation.prompt.localizedReason)
    writer.write(optional: evaluation.prompt.titles.fallback) { $0.write($1) }
    writer.write(optional: evaluation.prompt.titles.cancel) { $0.write($1) }
    return sealer.seal(
      writer.bytes, context: Self.context(.evaluation, caller, applicationID), at: time.seconds)
  }

  func openEvaluation(_ sealed: [UInt8], for caller: Caller, applicationID: String) -> SealedEvaluation? {
    guard let bytes = sealer.open(sealed, context: Self.context(.evaluation, caller, applicationID)) else { return nil }
    var reader = ByteReader(bytes)
    let key = reader.readKey()
    guard key.isIssued(in: lineage) else { return nil }
    return SealedEvaluation(
      key: key, challenge: reader.readBytes(), policyName: reader.readString(),
      policyRevision: reader.readInteger(), subject: reader.readSubject(),
      transaction: reader.readOptional { reader in
        Transaction(
          amount: reader.readString(), currency: reader.readString(), payee: reader.readString(),
          reference: reader.readString())
      },
      prompt: Prompt(
        localizedReason: reader.readString(),
        titles: EvaluationPolicy.Titles(
          fallback: reader.readOptional { $0.readString() }, cancel: reader.readOptional { $0.readString() })))
  }

  func seal(_ ticket: SealedTicket, for caller: Caller, applicationID: String, at time: UnixTime) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(ticket.key)
    writer.write(ticket.challenge)
    writer.write(ticket.profileID)
    writer.write(ticket.deviceID)
    writer.write(integer: UInt8(ticket.isConditional ? 1 : 0))
    writer.write(ticket.holder)
    return sealer.seal(writer.bytes, context: Self.context(.ticket, caller, applicationID), at: time.seconds)
  }

  func openTicket(_ sealed: [UInt8], for caller: Caller, applicationID: String) -> SealedTicket? {
    guard let bytes = sealer.open(sealed, context: Self.context(.ticket, caller, applicationID)) else { return nil }
    var reader = ByteReader(bytes)
    let key = reader.readKey()
    guard key.isIssued(in: lineage) else { return nil }
    return SealedTicket(
      key: key, challenge: reader.readBytes(), profileID: reader.readString(),
      deviceID: reader.readString(), isConditional: reader.readInteger() == UInt8(1), holder: reader.readHolder())
  }

  func seal(_ content: [UInt8], _ key: ExpiringKey, as kind: ConsoleSeal, at time: UnixTime) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(key)
    writer.write(content)
    return sealer.seal(writer.bytes, context: Self.context(of: kind), at: time.seconds)
  }

  func open(_ sealed: [UInt8], as kind: ConsoleSeal) -> (key: ExpiringKey, content: [UInt8])? {
    guard let bytes = sealer.open(sealed, context: Self.context(of: kind)) else { return nil }
    var reader = ByteReader(bytes)
    return (reader.readKey(), reader.readBytes())
  }

  private static func context(of kind: ConsoleSeal) -> [UInt8] {
    context(.console, Caller(identity: ""), kind.rawValue)
  }

  /// Format version, kind, caller, application: authenticated, not stored.
  private static func context(_ kind: Kind, _ caller: Caller, _ applicationID: String) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(integer: formatVersion)
    writer.write(integer: kind.rawValue)
    writer.write(caller.identity)
    writer.write(applicationID)
    return writer.bytes
  }

  /// Changes with the fields above: what an older version sealed is then no longer authentic.
  private static let formatVersion: UInt8 = 5
}

private enum SubjectKind: UInt8 {
  case binding = 1
  case profile
  case bearer
}

private enum HolderKind: UInt8 {
  case known = 1
  case new
}

private struct ByteWriter {
  /// Room for an evaluation without a transaction, so that most grow no further.
  private(set) var bytes: [UInt8] = { () -> [UInt8] in
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    return bytes
  }()

  mutating func write(integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func write(_ integer: UInt64) {
    write(integer: integer)
  }

  mutating func write(_ bytes: [UInt8]) {
    write(integer: UInt32(bytes.count))
    self.bytes.append(contentsOf: bytes)
  }

  mutating func write(_ text: String) {
    write(integer: UInt32(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func write(_ key: ExpiringKey) {
    write(integer: key.expiresAt.microseconds)
    write(integer: key.id.high)
    write(integer: key.id.low)
  }

  mutating func write(_ subject: EvaluationSubject) {
    switch subject {
    case .binding(let id):
      write(integer: SubjectKind.binding.rawValue)
      write(id)
    case .profile(let id):
      write(integer: SubjectKind.profile.rawValue)
      write(id)
    case .bearer:
      write(integer: SubjectKind.bearer.rawValue)
    }
  }

  mutating func write(_ holder: SealedTicket.Holder) {
    switch holder {
    case .known(let incarnation):
      write(integer: HolderKind.known.rawValue)
      write(incarnation)
    case .new(let erasureMark):
      write(integer: HolderKind.new.rawValue)
      write(erasureMark)
    }
  }

  mutating func write<Value>(optional value: Value?, _ body: (inout ByteWriter, Value) -> Void) {
    write(integer: UInt8(value == nil ? 0 : 1))
    if let value { body(&self, value) }
  }
}

/// Reads what `ByteWriter` wrote. The bytes are authentic, so a wrong length is a broken invariant of ours.
private struct ByteReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func readInteger<Integer: FixedWidthInteger>() -> Integer {
    let size = MemoryLayout<Integer>.size
    defer { position += size }
    return bytes[position..<position + size].reduce(0) { $0 << 8 | Integer($1) }
  }

  mutating func readBytes() -> [UInt8] {
    Array(readSlice())
  }

  mutating func readString() -> String {
    String(decoding: readSlice(), as: UTF8.self)
  }

  mutating func readKey() -> ExpiringKey {
    ExpiringKey(
      expiresAt: UnixTime(microseconds: Int64(bitPattern: readInteger())),
      id: UniqueID(high: readInteger(), low: readInteger()))
  }

  mutating func readSubject() -> EvaluationSubject {
    switch SubjectKind(rawValue: readInteger()) {
    case .binding: return .binding(readString())
    case .profile: return .profile(readString())
    case .bearer: return .bearer
    case nil: preconditionFailure("an authentic evaluation is of one of these subjects")
    }
  }

  mutating func readHolder() -> SealedTicket.Holder {
    switch HolderKind(rawValue: readInteger()) {
    case .known: return .known(incarnation: readInteger())
    case .new: return .new(erasureMark: readInteger())
    case nil: preconditionFailure("an authentic ticket is of one of these holders")
    }
  }

  mutating func readOptional<Value>(_ body: (inout ByteReader) -> Value) -> Value? {
    let isPresent: UInt8 = readInteger()
    return isPresent == 1 ? body(&self) : nil
  }

  private mutating func readSlice() -> ArraySlice<UInt8> {
    let count: UInt32 = readInteger()
    defer { position += Int(count) }
    return bytes[position..<position + Int(count)]
  }
}
