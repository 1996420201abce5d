// BeginBinding for a passkey: the ticket, and the options that the browser's dialogue needs (R46).

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension SealedTicket {
  /// A device's ticket names it; a passkey has none.
  var isForPasskey: Bool { deviceID.isEmpty }
}

extension TouchstoneService {
  /// An e-mail address has up to 254 bytes. Authenticators may cut it off after 64 (WebAuthn Level 3 §6.4.1).
  private static let nameBytes = 256

  func beginPasskey(
    _ passkey: V1.NewPasskey, _ request: V1.BeginBindingRequest, _ exchange: Exchange<V1.BeginBindingResponse>
  ) async throws(RequestError) -> V1.BeginBindingResponse {
    let now = clock()
    var validator = RequestValidator(request.applicationID, profileID: request.profileID)
    if !request.deviceID.isEmpty { validator.refuse("device_id", "is not taken for a passkey, which has no device") }
    validator.visibleText(passkey.userName, "passkey.user_name", bytes: 1...Self.nameBytes)
    validator.visibleText(passkey.displayName, "passkey.display_name", bytes: 0...Self.nameBytes)
    let authenticatedAt = validator.authenticationTime(
      request.primary, "primary", under: configuration.enrolment, at: now)
    try validator.finish()

    guard configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now) == .fresh else {
      try await denyOldLogin(request, exchange)
    }
    let requirements = keyProofs.requirements(of: request.applicationID)
    guard let passkeys = requirements.passkeys else {
      try await recordDenial(of: request, RequestError.Reason.passkeysNotServed, exchange)
      throw .passkeysNotServed
    }
    let permit = try await bindingPermits.permit(for: exchange, applicationID: request.applicationID)
    let bindings = try await bindings(
      of: ProfileName(request.applicationID, request.profileID), includingRevoked: false,
      limit: configuration.enrolment.maximumBindingsPerProfile, ending: permit, for: exchange)
    let present = bindings.compactMap(\.passkey).filter { $0.rpID == passkeys.rpID }
    let records = try await ticketHolder(request.profileID, of: request.applicationID, for: exchange)
    let lifetime = configuration.enrolment.ticketLifetime
    let ticket = SealedTicket(
      key: newKey(expiresAt: now + lifetime), challenge: randomness.bytes(Self.challengeBytes),
      profileID: request.profileID, deviceID: "", isConditional: passkey.conditional,
      holder: SealedTicket.Holder(records))
    let signingInput = ticket.signingInput(applicationID: request.applicationID)
    return V1.BeginBindingResponse(
      ticket: keys.sealer.seal(ticket, for: exchange.caller, applicationID: request.applicationID, at: now),
      challenge: ticket.challenge, signingInput: signingInput, expiresAt: V1.Timestamp(ticket.key.expiresAt),
      passkeyOptions: PasskeyOptions.creation(
        of: passkey, userHandle: pepper.userHandle(of: request.profileID, in: request.applicationID),
        signingInput: signingInput, excluding: present, requirements, passkeys, lifetime: lifetime))
  }
}

extension BindingRecord {
  var passkey: PasskeyRecord? {
    if case .passkey(let passkey) = credential { passkey } else { nil }
  }
}

extension RequestError {
  static let passkeysNotServed = RequestError.failedPrecondition(
    Reason.passkeysNotServed, "the application's configuration names no relying party for passkeys", .deviceNotSetUp)
}
