// The events of the audit log, and their names (R41). No event contains a secret, a signature, a token or a domain
// state.

internal import DispatchRPC
internal import Encodings
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension EventDraft {
  enum EvaluationKind: String {
    case denied = "evaluation.denied"
    case succeeded = "evaluation.succeeded"
    case failed = "evaluation.failed"
    case lockedOut = "evaluation.locked_out"
    case canceled = "evaluation.canceled"
    case fallback = "evaluation.fallback"
    case factorRequired = "evaluation.factor_required"
    /// The evaluation was unknown, expired, used, or not this caller's; or the caller's own login was too old.
    case refused = "evaluation.refused"
    case invalidated = "evaluation.invalidated"

    init(_ outcome: Outcome) {
      switch outcome {
      case .succeeded: self = .succeeded
      case .tryAgain, .failed: self = .failed
      case .canceled: self = .canceled
      case .fallback: self = .fallback
      case .lockedOut: self = .lockedOut
      case .factorRequired: self = .factorRequired
      case .invalidContext: self = .refused
      }
    }
  }

  /// - Parameters:
  ///   - subject: `nil` if the evaluation could not be opened, so that the person is unknown.
  ///   - reason: a stable word, not a text. It may say more than the caller's answer.
  ///   - code: what the caller was told.
  ///   - form: what a phone's key signed; `nil`: no key signed.
  ///   - transaction: what is, or was, to be approved.
  ///   - tokenID: of the token that was issued, where its use is an event.
  ///   - isVouchedByApp: whether an App Attest key's assertion was verified.
  ///   - isCounted: of a lockout: whether it counted, and so locked, or was refused while it was locked.
  static func evaluation(
    _ kind: EvaluationKind, policy: String, applicationID: String, subject: Subject?, reason: String? = nil,
    code: LAErrorCode? = nil, factor: Factor? = nil, form: SignatureForm? = nil, isCounted: Bool? = nil,
    transaction: Transaction? = nil, tokenID: String? = nil, isVouchedByApp: Bool = false,
    hasSignCountBack: Bool = false, caller: Caller, time: UnixTime
  ) -> EventDraft {
    var details = [EventDetail(key: "policy", value: policy)]
    if let factor { details.append(EventDetail(key: "factor", value: factor.settingName)) }
    if let form = EventDetail(form) { details.append(form) }
    if let reason { details.append(EventDetail(key: "reason", value: reason)) }
    if let code { details.append(EventDetail(key: "la_error", value: "\(code.rawValue)")) }
    if let transaction { details.append(.transaction(transaction.digest)) }
    if let tokenID { details.append(.tokenID(tokenID)) }
    if isVouchedByApp { details.append(EventDetail(key: "app_assertion", value: "verified")) }
    if hasSignCountBack { details.append(EventDetail(key: "sign_count", value: "not_grown")) }
    if let isCounted { details.append(EventDetail(key: "counted", value: isCounted ? "yes" : "no")) }
    let binding = subject?.sharedBinding
    return EventDraft(
      time: time, kind: kind.rawValue, applicationID: applicationID, profileID: subject?.profileID ?? "",
      deviceID: binding?.value.deviceID ?? "", bindingID: binding?.value.bindingID ?? "", caller: caller.identity,
      details: details)
  }

  enum BindingKind: String {
    case denied = "binding.denied"
    case refused = "binding.refused"
    case created = "binding.created"
    case revoked = "binding.revoked"
    case domainStateAccepted = "binding.domain_state_accepted"
  }

  static func binding(
    _ kind: BindingKind, applicationID: String, profileID: String, deviceID: String, bindingID: String = "",
    reason: String? = nil, statedReason: String? = nil, evidence: String? = nil, caller: Caller, time: UnixTime
  ) -> EventDraft {
    EventDraft(
      kind.rawValue, applicationID: applicationID, profileID: profileID, deviceID: deviceID, bindingID: bindingID,
      caller: caller, time: time,
      EventDetail("reason", reason), statedReason.map(EventDetail.statedReason), EventDetail("evidence", evidence))
  }

  static func binding(
    _ kind: BindingKind, _ record: BindingRecord, form: SignatureForm? = nil, reason: String? = nil,
    statedReason: String? = nil, evidence: String? = nil, caller: Caller, time: UnixTime
  ) -> EventDraft {
    var event = binding(
      kind, applicationID: record.applicationID, profileID: record.profileID, deviceID: record.deviceID,
      bindingID: record.bindingID, reason: reason, statedReason: statedReason, evidence: evidence, caller: caller,
      time: time)
    let level = record.credential.proofLevel
    if kind == .created, level > .none { event.details.append(EventDetail(key: "attestation", value: level.name)) }
    if let form = EventDetail(form) { event.details.append(form) }
    return event
  }

  enum SecretKind: String {
    case set = "secret.set"
    case removed = "secret.removed"
    case unlocked = "secret.unlocked"
    case refused = "secret.refused"
  }

  /// - Parameters:
  ///   - factor: passcode or gesture.
  ///   - authority: what entitled to it, or was to.
  static func secret(
    _ kind: SecretKind, _ factor: Factor, _ profile: ProfileName, authority: String? = nil, reason: String? = nil,
    statedReason: String? = nil, caller: Caller, time: UnixTime
  ) -> EventDraft {
    EventDraft(
      kind.rawValue, applicationID: profile.applicationID, profileID: profile.profileID, caller: caller, time: time,
      EventDetail("factor", factor.settingName), EventDetail("authority", authority), EventDetail("reason", reason),
      statedReason.map(EventDetail.statedReason))
  }

  /// Returns the event for settings as they are from now on.
  static func settingsChanged(
    _ settings: UnlockSettings, _ profile: ProfileName, statedReason: String?, caller: Caller, time: UnixTime
  ) -> EventDraft {
    func detail(_ factor: Factor, _ isOn: Bool) -> EventDetail? { EventDetail(factor.settingName, isOn ? "on" : "off") }
    return EventDraft(
      "settings.changed", applicationID: profile.applicationID, profileID: profile.profileID, caller: caller,
      time: time, detail(.biometry, settings.isBiometryEnabled), detail(.gesture, settings.isGestureEnabled),
      detail(.passcode, settings.isPasscodeEnabled), EventDetail("preferred", settings.preferred?.settingName),
      statedReason.map(EventDetail.statedReason))
  }

  enum TokenKind: String {
    case consumed = "token.consumed"
    case refused = "token.refused"
    case revoked = "token.revoked"
  }

  /// - Parameter token: `nil`: not genuine, or another application's.
  static func token(
    _ kind: TokenKind, _ token: TouchstoneService.GenuineToken?, applicationID: String, reason: String? = nil,
    caller: Caller, time: UnixTime
  ) -> EventDraft {
    let named = token?.isHolderErased == false ? token?.claims : nil
    return EventDraft(
      kind.rawValue, applicationID: applicationID, profileID: named?.subject ?? "", bindingID: named?.bindingID ?? "",
      caller: caller, time: time, (token?.claims.tokenID).map(EventDetail.tokenID), EventDetail("reason", reason),
      named?.transactionDigest.map(EventDetail.transaction))
  }

  enum ProfileKind: String {
    /// Nothing is known of it, so that it may have been erased: the event names no profile.
    case refused = "profile.refused"
    case searched = "profile.searched"
  }

  /// - Parameters:
  ///   - way: prefix or id; `nil`: no search was made.
  ///   - found: how many profiles.
  static func profile(
    _ kind: ProfileKind, applicationID: String, profileID: String = "",
    reason: String? = nil, searchedBy way: String? = nil, found: Int? = nil, caller: Caller, time: UnixTime
  ) -> EventDraft {
    EventDraft(
      kind.rawValue, applicationID: applicationID, profileID: profileID, caller: caller, time: time,
      EventDetail("reason", reason), EventDetail("by", way), EventDetail("found", found.map(String.init)))
  }

  enum DeviceKind: String {
    case unlocked = "device.unlocked"
    case refused = "device.refused"
    /// The device id was bound to many profiles: it is probably on many phones.
    case shared = "device.shared"
  }

  static func device(
    _ kind: DeviceKind, _ deviceID: String, applicationID: String, profileID: String, reason: String? = nil,
    statedReason: String? = nil, caller: Caller, time: UnixTime
  ) -> EventDraft {
    EventDraft(
      kind.rawValue, applicationID: applicationID, profileID: profileID, deviceID: deviceID, caller: caller, time: time,
      EventDetail("reason", reason), statedReason.map(EventDetail.statedReason))
  }

  /// An operator of the console signed in or out, or changed the account.
  static func operatorEvent(
    _ occasion: OperatorOccasion, _ caller: Caller, by peer: RPCPeer, _ details: [(key: String, value: String)],
    time: UnixTime
  ) -> EventDraft {
    EventDraft(
      time: time, kind: occasion.rawValue, applicationID: "", caller: caller.identity,
      details: ([("peer", peer.auditName)] + details).map { EventDetail(key: $0.0, value: $0.1) })
  }

  /// - Parameter details: those without a value are left out.
  fileprivate init(
    _ kind: String, applicationID: String, profileID: String = "", deviceID: String = "",
    bindingID: String = "", caller: Caller, time: UnixTime, _ details: EventDetail?...
  ) {
    self.init(
      time: time, kind: kind, applicationID: applicationID, profileID: profileID, deviceID: deviceID,
      bindingID: bindingID, caller: caller.identity, details: details.compactMap(\.self))
  }
}

/// Names the kind of the event.
package enum OperatorOccasion: String, Sendable {
  case signedIn = "operator.signed_in"
  case signedOut = "operator.signed_out"
  case changed = "operator.changed"
}

extension EventDetail {
  /// `nil` without a value.
  fileprivate init?(_ key: String, _ value: String?) {
    guard let value else { return nil }
    self.init(key: key, value: value)
  }

  /// `nil`: the signing input itself was signed, as most keys do, or nothing.
  fileprivate init?(_ form: SignatureForm?) {
    guard let form, form != .raw else { return nil }
    self.init(key: "signature_form", value: form.name)
  }

  /// How many like it had no event since the last one.
  static func suppressed(_ count: Int) -> EventDetail {
    EventDetail(key: "suppressed", value: String(count))
  }

  /// `jti`
  fileprivate static func tokenID(_ id: String) -> EventDetail {
    EventDetail(key: "token_id", value: id)
  }

  /// As `txn` of the payment's token has it.
  fileprivate static func transaction(_ digest: [UInt8]) -> EventDetail {
    EventDetail(key: "transaction", value: Base64URL.encode(digest))
  }
}

extension Transaction {
  /// SHA-256 of the canonical bytes: what tokens and events name it by.
  var digest: [UInt8] { sha256(canonicalBytes) }
}
