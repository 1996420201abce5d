// Every request that the simulation sends, and its laws: the changes that it may cause, and the answers that are right.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// A request with its method and its laws.
protocol Request: WireMessage {
  associatedtype Answer: WireMessage
  /// "TokenService/ConsumeToken".
  static var method: String { get }

  /// The same bytes in each run of a seed: without a signature, whose nonce is the library's own.
  var isRepeatable: Bool { get }

  /// Whether this call is reason enough for an event, and for the effect that is written with it.
  ///
  /// - Parameter moment: right before they are applied.
  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool

  /// Checks the laws of an answer, at the moment when it is given.
  func check(_ answer: Answer, to call: Call, in world: World)

  /// In the trace.
  func summary(of answer: Answer) -> String
}

extension Request {
  var isRepeatable: Bool { true }
  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool { false }
  func check(_ answer: Answer, to call: Call, in world: World) {}
  func summary(of answer: Answer) -> String { "ok" }
}

/// A change set on its way into the store, as one of the calls that may have caused it sees it.
struct Moment {
  var world: World
  /// As things stand before it.
  var before: StoredRecords
  var changeSet: ChangeSet
  var call: Call

  /// Since the call was taken up: the clock went, or was set, from one to the other.
  var earliest: UnixTime { world.time.earliest(since: call.dispatchedStep ?? 0) }

  /// A login of the caller's own, not too long ago at some time of the call.
  func isFresh(_ primary: V1.PrimaryAuthentication?, within freshness: Duration) -> Bool {
    guard let authenticatedAt = primary?.authenticatedAt.map(UnixTime.init) else { return false }
    return authenticatedAt + freshness >= earliest
  }

  /// The very secret that is set now.
  func isRight(_ secret: [UInt8], _ kind: Factor, of applicationID: String, _ profileID: String) -> Bool {
    let record = before.profile(applicationID, profileID).secret(kind)
    guard let record, record.standing.isSet else { return false }
    return world.ledger.secret(of: record.verifier)?.bytes == secret
  }
}

extension Change {
  /// Writes nothing that a rule rests on.
  var isCondition: Bool {
    switch self {
    case .requireBinding, .requireDevice, .requireProfile, .requireToken, .notePosture, .putReceipt,
      .moveReceipt:
      true
    case .putBinding, .putDevice, .putProfile, .putEvaluation, .putToken, .touchBinding, .raiseProofCounter, .useTicket,
      .eraseProfile:
      false
    }
  }
}

extension ChangeSet {
  var changesNothing: Bool { changes.allSatisfy(\.isCondition) }
}

extension EventDraft {
  /// A profile's own, and of no device.
  func isOf(_ applicationID: String, _ profileID: String) -> Bool {
    Identifier.areEqual(self.applicationID, applicationID) && Identifier.areEqual(self.profileID, profileID)
  }

  /// If the store has no record of the profile, which may have been erased, the event names none.
  func isOfKnown(_ applicationID: String, _ profileID: String, _ moment: Moment) -> Bool {
    isOf(applicationID, moment.before.profile(applicationID, profileID).version > 0 ? profileID : "")
  }

  func detail(_ key: String) -> String? { details.first { $0.key == key }?.value }
}

extension V1.Secret {
  /// As the service hashes it.
  var bytes: [UInt8] {
    switch kind {
    case .passcode(let proof): Array(proof.passcode.utf8)
    case .gesture(let proof): proof.points.map { UInt8(truncatingIfNeeded: $0) }
    case nil: []
    }
  }

  var factor: Factor { if case .gesture = kind { .gesture } else { .passcode } }
}

extension Transaction {
  init(_ transaction: V1.Transaction) {
    self.init(
      amount: transaction.amount, currency: transaction.currency, payee: transaction.payee,
      reference: transaction.reference)
  }
}

extension UnixTime {
  init(_ timestamp: V1.Timestamp) {
    self.init(microseconds: timestamp.seconds * 1_000_000 + Int64(timestamp.nanoseconds) / 1_000)
  }
}

extension V1.Timestamp {
  init(_ time: UnixTime) {
    self.init(seconds: time.seconds, nanoseconds: Int32((time.microseconds - time.seconds * 1_000_000) * 1_000))
  }
}

extension [V1.Factor] { var names: String { "[" + map { "\($0.rawValue)" }.joined(separator: " ") + "]" } }
