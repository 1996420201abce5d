// Signatures on the events that account for content that is gone from the audit log (R41).

internal import Encodings
internal import Synchronization
public import TouchstonePolicy

/// The signature of an account. By the chain's hashes alone, anyone with write access to the database could remove an
/// event's content and append an account of it.
public struct AccountSignature: Sendable, Hashable {
  /// The RFC 7638 thumbprint of the audit key that made it.
  public var keyID: String
  /// ES256: 64 bytes.
  public var bytes: [UInt8]

  public static let byteCount = 64
  private static let keyIDByteCount = 43

  /// `nil` if these are not a key's id and a signature.
  public init?(keyID: String, bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, keyID.utf8.count == Self.keyIDByteCount,
      // The id is printed.
      Identifier.violation(in: keyID) == nil
    else { return nil }
    self.keyID = keyID
    self.bytes = bytes
  }
}

/// The audit keys for a store. Another target implements them, because this one knows no private key.
public struct AccountKeys: Sendable {
  public enum Finding: Sendable, Hashable {
    case valid
    /// The named key did not make it.
    case forged
    /// The named key is not among these.
    case unknownKey
  }

  /// Signs with the key that is in use at the time. `nil`: there is none.
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

/// An account's place in the log, and the bytes to sign.
package struct AccountClaim: Sendable, Hashable {
  package var sequence: UInt64
  /// `nil`: it has no signature.
  package var signature: Signature?
  package var message: [UInt8]

  package enum Signature: Sendable, Hashable {
    case wellFormed(AccountSignature)
    case malformed
  }

  private static let signatureKey = "signature"
  private static let keyIDKey = "signature_key"
  private static let domain = Array("touchstone audit account 1\0".utf8)

  /// `nil`: the event is no account.
  package init?(of event: EventDraft, after previous: EventChain.Head) {
    guard Self.isAccount(event) else { return nil }
    sequence = previous.sequence + 1
    message = Self.message(of: event, after: previous)
    signature = Self.signature(in: event)
  }

  private static let kinds = [ProfileErasure.eventKind, ArchivedEvents.eventKind, EventDraft.signingKind]

  package static func isAccount(_ event: EventDraft) -> Bool { kinds.contains(event.kind) }

  /// Whether the account has a signature, by any key.
  package static func hasSignature(_ event: EventDraft) -> Bool { isAccount(event) && signature(in: event) != nil }

  private static func signature(in event: EventDraft) -> Signature? {
    let (bytes, keyID) = (event.details.first { $0.key == signatureKey }, event.details.first { $0.key == keyIDKey })
    guard bytes != nil || keyID != nil else { return nil }
    guard let bytes, let keyID, let decoded = Hexadecimal.bytes(bytes.value),
      let signature = AccountSignature(keyID: keyID.value, bytes: decoded)
    else { return .malformed }
    return .wellFormed(signature)
  }

  /// The event's content and its place, so that it is an account of this log only, directly after the event with this
  /// hash. No signature is valid elsewhere.
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

extension EventRecord {
  /// It is an account with a signature, by any key.
  package var isSignedAccount: Bool { event.map(AccountClaim.hasSignature) ?? false }
}

extension EventDraft {
  /// The kind of the event from which on all accounts are signed.
  package static let signingKind = "log.signed"

  /// An account that only says that the ones after it are signed.
  package static func signing(at time: UnixTime) -> EventDraft {
    EventDraft(time: time, kind: signingKind, applicationID: "", caller: "operator")
  }

  /// An account with its signature, to follow `previous`. `nil`: there is no key.
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
    /// A signed account is in the log: from it on an unsigned one is tampering.
    var hasSigned: Bool
  }

  private let state: Mutex<State>
  private let review: AccountReview

  /// - Parameter review: the findings at the opening of the log.
  package init(review: AccountReview) {
    self.review = review
    state = Mutex(State(keys: nil, hasSigned: review.firstSigned != nil))
  }

  /// Uses these keys from now on.
  package func use(_ keys: AccountKeys) throws(StoreError) {
    if let fault = review.fault(by: keys) {
      throw StoreError(code: .corrupt, message: "the audit log is not as it was written: \(fault)")
    }
    state.withLock { $0.keys = keys }
  }

  /// The log holds a signed account: another process has begun to sign, or this one's first account is durable.
  package func noteSigned() {
    state.withLock { $0.hasSigned = true }
  }

  /// Whether it is unknown that accounts are signed: the log may say so since it was opened.
  package var isSigningUnknown: Bool { state.withLock { !$0.hasSigned } }

  /// False if accounts must be signed and there is no key.
  package func isReady(at time: UnixTime) -> Bool {
    state.withLock { state in !state.hasSigned || state.keys?.sign([], time) != nil }
  }

  /// The account to append after `previous`. `nil`: it cannot be signed.
  package func account(_ event: EventDraft, after previous: EventChain.Head) -> EventDraft? {
    state.withLock { state in
      guard let signed = state.keys.flatMap({ event.signed(by: $0, after: previous) }) else {
        return state.hasSigned ? nil : event
      }
      state.hasSigned = true
      return signed
    }
  }

  /// The event from which on all accounts are signed. `nil`: there is one already, or there is no key. Call
  /// `noteSigned` when it is durable: until then this returns it again.
  package func beginning(after previous: EventChain.Head, at time: UnixTime) -> EventDraft? {
    state.withLock { state in
      guard !state.hasSigned, let keys = state.keys else { return nil }
      return EventDraft.signing(at: time).signed(by: keys, after: previous)
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
