// Signatures on the events that account for what is gone from the audit log (R41).

internal import Synchronization
public import TouchstonePolicy

/// What vouches for an account: the chain's hashes alone would let anyone who may write to the database remove an event's
/// content and append an account of it.
public struct AccountSignature: Sendable, Hashable {
  /// Which audit key made it: its RFC 7638 thumbprint.
  public var keyID: String
  /// ES256: 64 bytes.
  public var bytes: [UInt8]

  public static let byteCount = 64
  private static let keyIDByteCount = 43

  /// `nil` where these are no key's id and no signature.
  public init?(keyID: String, bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, keyID.utf8.count == Self.keyIDByteCount,
      keyID.utf8.allSatisfy(Self.isBase64URL)
    else { return nil }
    self.keyID = keyID
    self.bytes = bytes
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// The audit keys, as a store uses them. They are another target's: this one knows no private key.
public struct AccountKeys: Sendable {
  public enum Finding: Sendable, Hashable {
    case valid
    /// The key that it names did not make it.
    case forged
    /// The key that it names is not among these.
    case unknownKey
  }

  /// By the key that is in use at the time. `nil`: there is none.
  public var sign: @Sendable (_ message: [UInt8], _ time: UnixTime) -> AccountSignature?
  public var check: @Sendable (_ signature: AccountSignature, _ message: [UInt8]) -> Finding

  public init(
    sign: @escaping @Sendable (_ message: [UInt8], _ time: UnixTime) -> AccountSignature?,
    check: @escaping @Sendable (_ signature: AccountSignature, _ message: [UInt8]) -> Finding
  ) {
    self.sign = sign
    self.check = check
  }
}

/// An account's place in the log, and what is signed there.
package struct AccountClaim: Sendable, Hashable {
  package var sequence: UInt64
  /// `nil`: it carries none.
  package var signature: Signature?
  package var message: [UInt8]

  package enum Signature: Sendable, Hashable {
    case wellFormed(AccountSignature)
    case malformed
  }

  private static let signatureKey = "signature"
  private static let keyIDKey = "signature_key"
  private static let domain = Array("touchstone audit account 1\0".utf8)

  /// `nil`: the event accounts for nothing.
  package init?(of event: EventDraft, after previous: EventChain.Head) {
    guard Self.kinds.contains(event.kind) else { return nil }
    sequence = previous.sequence + 1
    message = Self.message(of: event, after: previous)
    signature = Self.signature(in: event)
  }

  private static let kinds = [ProfileErasure.eventKind, ArchivedEvents.eventKind, EventDraft.signingKind]

  private static func signature(in event: EventDraft) -> Signature? {
    let (bytes, keyID) = (event.details.first { $0.key == signatureKey }, event.details.first { $0.key == keyIDKey })
    guard bytes != nil || keyID != nil else { return nil }
    guard let bytes, let keyID, let decoded = Hexadecimal.bytes(bytes.value),
      let signature = AccountSignature(keyID: keyID.value, bytes: decoded)
    else { return .malformed }
    return .wellFormed(signature)
  }

  /// The event's content and its place: it is an account of this log alone, right behind the event with this hash. So no
  /// signature serves anywhere else.
  private static func message(of event: EventDraft, after previous: EventChain.Head) -> [UInt8] {
    var event = event
    event.details.removeAll { $0.key == signatureKey || $0.key == keyIDKey }
    var message = domain
    message.append(bigEndian: previous.sequence + 1)
    message += previous.hash
    message += EventChain.contentDigest(of: event, salt: UniqueID(high: 0, low: 0))
    return message
  }

  fileprivate static func details(of signature: AccountSignature) -> [EventDetail] {
    [
      EventDetail(key: signatureKey, value: Hexadecimal.text(signature.bytes)),
      EventDetail(key: keyIDKey, value: signature.keyID),
    ]
  }
}

extension EventDraft {
  /// Of the event from which on all accounts are signed.
  package static let signingKind = "log.signed"

  /// An account of nothing but that the ones behind it are signed.
  package static func signing(at time: UnixTime) -> EventDraft {
    EventDraft(time: time, kind: signingKind, applicationID: "", caller: "operator")
  }

  /// An account with its signature, for right behind `previous`. `nil`: there is no key.
  package func signed(by keys: AccountKeys, after previous: EventChain.Head) -> EventDraft? {
    guard let claim = AccountClaim(of: self, after: previous), let signature = keys.sign(claim.message, time) else {
      return nil
    }
    var event = self
    event.details = (details + AccountClaim.details(of: signature)).sorted { $0.key < $1.key }
    return event
  }
}

/// Signs the accounts that a store appends.
package final class AccountSigner: Sendable {
  private struct State {
    var keys: AccountKeys?
    /// An account with a signature is in the log: from it on one without is tampering.
    var hasSigned: Bool
  }

  private let state: Mutex<State>
  private let review: AccountReview

  /// - Parameter review: what was found when the log was opened.
  package init(review: AccountReview) {
    self.review = review
    state = Mutex(State(keys: nil, hasSigned: review.firstSigned != nil))
  }

  /// From now on with these.
  package func use(_ keys: AccountKeys) throws(StoreError) {
    if let fault = review.fault(by: keys) {
      throw StoreError(code: .corrupt, message: "the audit log is not as it was written: \(fault)")
    }
    state.withLock { $0.keys = keys }
  }

  /// False where accounts have to be signed, and there is no key.
  package func isReady(at time: UnixTime) -> Bool {
    state.withLock { state in !state.hasSigned || state.keys?.sign([], time) != nil }
  }

  /// The account as it is to be appended right behind `previous`. `nil`: it cannot be signed.
  package func account(_ event: EventDraft, after previous: EventChain.Head) -> EventDraft? {
    state.withLock { state in
      guard let signed = state.keys.flatMap({ event.signed(by: $0, after: previous) }) else {
        return state.hasSigned ? nil : event
      }
      state.hasSigned = true
      return signed
    }
  }

  /// The event from which on all accounts are signed. `nil`: one is there, or there is no key.
  package func beginning(after previous: EventChain.Head, at time: UnixTime) -> EventDraft? {
    state.withLock { state in
      guard !state.hasSigned, let keys = state.keys else { return nil }
      let event = EventDraft.signing(at: time).signed(by: keys, after: previous)
      state.hasSigned = event != nil
      return event
    }
  }
}

extension StoreError {
  /// An erasure or an archiving whose account could not be signed.
  package static let noAuditKey = StoreError(
    code: .unavailable, remedy: .addAuditKey,
    message: "accounts in this audit log are signed, and this process has no audit key in use: give it the keys of the "
      + "others, or add one (`touchstone keys rotate DIRECTORY audit --after 0s`, then SIGHUP)")
}
