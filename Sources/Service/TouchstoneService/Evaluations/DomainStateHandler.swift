// AcceptDomainState: what the device's biometrics are now becomes the binding's baseline, on evidence that the person
// was there by other means (R26).

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  /// The evidence that the caller shows.
  fileprivate enum Evidence: Sendable {
    case token(String)
    case primary(authenticatedAt: UnixTime)

    var auditName: String {
      switch self {
      case .token: "token"
      case .primary: "primary"
      }
    }
  }

  private struct AcceptanceTerms: Sendable {
    var applicationID: String
    var bindingID: String
    /// Nothing but domain state and OS version.
    var posture: DevicePosture
    var evidence: Evidence

    func posture(of binding: BindingRecord) -> DevicePosture {
      var posture = posture
      if let family = binding.platformFamily { posture.platform = family.platform }
      return posture
    }
  }

  @Sendable func acceptDomainState(
    _ request: V1.AcceptDomainStateRequest, _ exchange: Exchange<V1.AcceptDomainStateResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.bindingID, "binding_id")
    validator.opaque(request.domainState, "domain_state", count: 1...RequestValidator.maximumDomainStateBytes)
    var posture = DevicePosture.empty
    posture.domainState = request.domainState
    if let version = validator.osVersion(request.osVersion, "os_version", on: .iOS) { posture.osVersion = version }
    let evidence: Evidence? =
      switch request.evidence {
      case .token(let token): validator.token(token)
      case .primary(let primary):
        .primary(
          authenticatedAt: validator.authenticationTime(
            primary, "primary", under: configuration.enrolment, at: clock()))
      case nil: validator.noEvidence()
      }
    try validator.finish()
    guard let evidence else { preconditionFailure("what is missing was refused above") }
    let terms = AcceptanceTerms(
      applicationID: request.applicationID, bindingID: request.bindingID, posture: posture, evidence: evidence)
    exchange.deciding { [self] round throws(RequestError) in try accept(terms, exchange, in: round) }
  }

  private func accept(
    _ terms: AcceptanceTerms, _ exchange: Exchange<V1.AcceptDomainStateResponse>, in round: DecisionRound
  ) throws(RequestError) {
    try binding(terms.bindingID, of: terms.applicationID, for: exchange) { [self] binding throws(RequestError) in
      guard !binding.isRevoked else {
        return refuse(
          RequestError.Reason.bindingRevoked, "binding_id: is revoked", binding, terms, exchange, in: round,
          telling: nil)
      }
      switch terms.evidence {
      case .primary(let authenticatedAt):
        let verdict = configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: clock())
        accept(terms, on: .primary(verdict), by: nil, binding, exchange, in: round)
      case .token(let text):
        try lookUp(text, of: terms.applicationID, for: exchange) { [self] token in
          guard let token, token.isActive(at: clock()) else {
            return refuse(
              RequestError.Reason.tokenInvalid, "token: is not active in this application", binding, terms, exchange,
              in: round)
          }
          let evidence = DomainStateEvidence.token(
            issuedAt: UnixTime(seconds: token.claims.issuedAt),
            isForBinding: Identifier.areEqual(token.claims.subject, binding.profileID),
            isByBiometrics: token.isByBiometrics)
          accept(terms, on: evidence, by: token, binding, exchange, in: round)
        }
      }
    }
  }

  /// - Parameter token: the evidence, where it is one; it must still hold when the change is made (R32).
  private func accept(
    _ terms: AcceptanceTerms, on evidence: DomainStateEvidence, by token: GenuineToken?, _ binding: BindingRecord,
    _ exchange: Exchange<V1.AcceptDomainStateResponse>, in round: DecisionRound
  ) {
    let now = clock()
    switch configuration.enrolment.acceptDomainState(of: terms.posture(of: binding), on: evidence, now: now) {
    case .accept(let baseline):
      let noted = Self.noteOfUnchangedState(binding)
      guard baseline != binding.baseline else {
        let answer = V1.AcceptDomainStateResponse(binding: V1.Binding(binding))
        guard let noted else { return confirm(for: exchange) { exchange.answer(answer) } }
        return commit(
          ChangeSet(changes: [.requireBinding(id: binding.bindingID, version: binding.version), noted], events: []),
          in: round, for: exchange
        ) { exchange.answer(answer) }
      }
      var accepted = binding
      accepted.baseline = baseline
      let event = EventDraft.binding(
        .domainStateAccepted, binding, evidence: terms.evidence.auditName, caller: exchange.caller, time: now)
      commit(
        ChangeSet(
          changes: (token?.requirements ?? []) + [.putBinding(accepted)] + (noted.map { [$0] } ?? []), events: [event]),
        in: round, for: exchange
      ) { [accepted] in
        exchange.answer(V1.AcceptDomainStateResponse(binding: V1.Binding(accepted)))
      }
    case .refuse(let refusal):
      refuse(refusal, binding, terms, exchange, in: round)
    }
  }

  /// `nil` if support is told so already, or if the device was never seen.
  private static func noteOfUnchangedState(_ binding: BindingRecord) -> Change? {
    guard var seen = binding.lastSeen, seen.domainState != .unchanged else { return nil }
    seen.domainState = .unchanged
    return .notePosture(bindingID: binding.bindingID, seen)
  }

  private func refuse(
    _ refusal: DomainStateAcceptance.Refusal, _ binding: BindingRecord, _ terms: AcceptanceTerms,
    _ exchange: Exchange<V1.AcceptDomainStateResponse>, in round: DecisionRound
  ) {
    typealias Reason = RequestError.Reason
    func refuse(_ reason: String, _ message: String, telling told: CallRefusal? = .otherFactorRequiredFirst) {
      self.refuse(reason, message, binding, terms, exchange, in: round, telling: told)
    }
    switch refusal {
    case .tokenOfAnother:
      refuse(Reason.tokenOfAnotherProfile, "token: is of another profile")
    case .tokenByBiometry:
      refuse(Reason.tokenByBiometry, "token: biometrics may have proven it")
    case .tokenTooOld:
      refuse(Reason.tokenTooOld, "token: was issued too long ago")
    // In the future: the service's clock was set back meanwhile.
    case .primaryTooOld, .primaryInFuture:
      refuse(
        Reason.primaryAuthenticationTooOld, "the person must log in again", telling: .primaryAuthenticationTooOld)
    case .noDomainState:
      refuse(
        Denial.Reason.domainStateRequired.rawValue,
        "domain_state: a device of the binding's platform has none at this os_version", telling: nil)
    }
  }

  private func refuse(
    _ reason: String, _ message: String, _ binding: BindingRecord, _ terms: AcceptanceTerms,
    _ exchange: Exchange<V1.AcceptDomainStateResponse>, in round: DecisionRound,
    telling refusal: CallRefusal? = .otherFactorRequiredFirst
  ) {
    let event = EventDraft.binding(.refused, binding, reason: reason, caller: exchange.caller, time: clock())
    let throttled = ThrottledEvent(
      event, about: binding.bindingID, on: [.requireBinding(id: binding.bindingID, version: binding.version)])
    record(throttled, in: round, for: exchange) { () throws(RequestError) in
      throw .failedPrecondition(reason, message, refusal)
    }
  }
}

extension RequestValidator {
  fileprivate mutating func token(_ token: String) -> TouchstoneService.Evidence? {
    text(token, "token", bytes: TouchstoneService.tokenBytes)
    return .token(token)
  }

  fileprivate mutating func noEvidence() -> TouchstoneService.Evidence? {
    refuse("evidence", "is required: token or primary")
    return nil
  }
}
