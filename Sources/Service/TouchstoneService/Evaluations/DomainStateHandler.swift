// AcceptDomainState: what the device's biometrics are now becomes the binding's baseline, on evidence that the person
// was there by other means (R26).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  /// The evidence that the caller shows.
  private enum Evidence: Sendable {
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
  ) async throws(RequestError) -> V1.AcceptDomainStateResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.identifier(request.bindingID, "binding_id")
    validator.opaque(request.domainState, "domain_state", count: 1...RequestValidator.maximumDomainStateBytes)
    var posture = DevicePosture.empty
    posture.domainState = request.domainState
    if let version = validator.osVersion(request.osVersion, "os_version", on: .iOS) { posture.osVersion = version }
    var evidence: Evidence?
    switch request.evidence {
    case .token(let token):
      validator.text(token, "token", bytes: Self.tokenBytes)
      evidence = .token(token)
    case .primary(let primary):
      evidence = .primary(
        authenticatedAt: validator.authenticationTime(primary, "primary", under: configuration.enrolment, at: clock()))
    case nil: validator.refuse("evidence", "is required: token or primary")
    }
    try validator.finish()
    guard let evidence else { preconditionFailure("what is missing was refused above") }
    let terms = AcceptanceTerms(
      applicationID: request.applicationID, bindingID: request.bindingID, posture: posture, evidence: evidence)
    for _ in DecisionRound.all {
      if let response = try await accept(terms, exchange) { return response }
    }
    throw .tooManyRounds
  }

  /// `nil`: a record changed since it was read.
  private func accept(
    _ terms: AcceptanceTerms, _ exchange: Exchange<V1.AcceptDomainStateResponse>
  ) async throws(RequestError) -> V1.AcceptDomainStateResponse? {
    let (binding, _) = try await binding(terms.bindingID, of: terms.applicationID, for: exchange)
    guard !binding.isRevoked else {
      let error = RequestError.failedPrecondition(RequestError.Reason.bindingRevoked, "binding_id: is revoked", nil)
      try await refuse(error, binding, exchange)
      return nil
    }
    let evidence: DomainStateEvidence
    var token: GenuineToken?
    switch terms.evidence {
    case .primary(let authenticatedAt):
      evidence = .primary(configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: clock()))
    case .token(let text):
      token = try await lookUp(text, of: terms.applicationID, for: exchange)
      guard let token, token.isActive(at: clock()) else {
        let error = RequestError.failedPrecondition(
          RequestError.Reason.tokenInvalid, "token: is not active in this application", .otherFactorRequiredFirst)
        try await refuse(error, binding, exchange)
        return nil
      }
      evidence = .token(
        issuedAt: UnixTime(seconds: token.claims.issuedAt),
        isForBinding: Identifier.areEqual(token.claims.subject, binding.profileID),
        isByBiometrics: token.isByBiometrics)
    }
    let now = clock()
    switch configuration.enrolment.acceptDomainState(of: terms.posture(of: binding), on: evidence, now: now) {
    case .accept(let baseline):
      var accepted = binding
      accepted.baseline = baseline
      // The token must still hold when the change is made (R32).
      let isWritten = try await write(accepted, insteadOf: binding, on: token, terms, exchange, at: now)
      return isWritten ? V1.AcceptDomainStateResponse(binding: V1.Binding(accepted)) : nil
    case .refuse(let refusal):
      try await refuse(.domainStateNotAccepted(refusal), binding, exchange)
      return nil
    }
  }

  /// - Parameter token: the evidence, where it is one.
  private func write(
    _ accepted: BindingRecord, insteadOf binding: BindingRecord, on token: GenuineToken?, _ terms: AcceptanceTerms,
    _ exchange: Exchange<V1.AcceptDomainStateResponse>, at now: UnixTime
  ) async throws(RequestError) -> Bool {
    let noted = Self.noteOfUnchangedState(binding).map { [$0] } ?? []
    guard accepted.baseline == binding.baseline else {
      let event = EventDraft.binding(
        .domainStateAccepted, binding, evidence: terms.evidence.auditName, caller: exchange.caller, time: now)
      let changes = (token?.requirements ?? []) + [.putBinding(accepted)] + noted
      return try await commit(ChangeSet(changes: changes, events: [event]), for: exchange)
    }
    guard !noted.isEmpty else {
      try await confirm(for: exchange)
      return true
    }
    return try await commit(ChangeSet(changes: [.require(binding)] + noted, events: []), for: exchange)
  }

  /// `nil` if support is told so already, or if the device was never seen.
  private static func noteOfUnchangedState(_ binding: BindingRecord) -> Change? {
    guard var seen = binding.lastSeen, seen.domainState != .unchanged else { return nil }
    seen.domainState = .unchanged
    return .notePosture(bindingID: binding.bindingID, seen)
  }
}

extension RequestError {
  fileprivate static func domainStateNotAccepted(_ refusal: DomainStateAcceptance.Refusal) -> RequestError {
    switch refusal {
    case .tokenOfAnother:
      .failedPrecondition(Reason.tokenOfAnotherProfile, "token: is of another profile", .otherFactorRequiredFirst)
    case .tokenByBiometry:
      .failedPrecondition(Reason.tokenByBiometry, "token: biometrics may have proven it", .otherFactorRequiredFirst)
    case .tokenTooOld:
      .failedPrecondition(Reason.tokenTooOld, "token: was issued too long ago", .otherFactorRequiredFirst)
    // In the future: the service's clock was set back meanwhile.
    case .primaryTooOld, .primaryInFuture:
      .failedPrecondition(
        Reason.primaryAuthenticationTooOld, "the person must log in again", .primaryAuthenticationTooOld)
    case .noDomainState:
      .failedPrecondition(
        Denial.Reason.domainStateRequired.rawValue,
        "domain_state: a device of the binding's platform has none at this os_version", nil)
    }
  }
}
