// The operator's own account: password, passkeys, sessions.

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

extension Console {
  private func isFresh(_ visit: Visit) -> Bool { Session.isFresh(expiresAt: visit.key.expiresAt, at: clock()) }

  func account(_ visit: Visit) async -> HTTPResponse { await account(visit, nil, isError: false, .ok) }

  private func account(
    _ visit: Visit, _ notice: Phrase?, isError: Bool = true, _ status: HTTPStatus = .badRequest
  ) async -> HTTPResponse {
    var view = AccountView(notice: notice, isError: isError, isFresh: isFresh(visit))
    view.hasPassword = visit.operator.password != nil
    view.needsPasskey = needsPasskey(visit.operator, visit.stored)
    if signInRule != .password, view.hasPassword {
      let calls = ownCalls(visit)
      let list: V1.ListBindingsResponse? = try? await calls(
        V1.BindingService.listBindings,
        V1.ListBindingsRequest(applicationID: ApplicationID.console, profileID: visit.operator.accountID))
      view.passkeys = list?.bindings
      if view.isFresh { view.newPasskey = await newPasskey(visit, calls) }
    }
    return visit.page(.account(visit.reader, view), status)
  }

  /// `nil`: the service does not answer.
  private func newPasskey(_ visit: Visit, _ calls: OperatorCalls) async -> PasskeyForm? {
    var request = V1.BeginBindingRequest(
      applicationID: ApplicationID.console, profileID: visit.operator.accountID)
    let signedInAt = Session.beginning(expiresAt: visit.key.expiresAt)
    request.primary = V1.PrimaryAuthentication(
      method: "console",
      authenticatedAt: V1.Timestamp(seconds: signedInAt.seconds))
    request.passkey = V1.NewPasskey(userName: visit.operator.name)
    let begun: V1.BeginBindingResponse? = try? await calls(V1.BindingService.beginBinding, request)
    return begun.map { PasskeyForm(options: $0.passkeyOptions, context: Base64URL.encode($0.ticket)) }
  }

  // MARK: Password

  /// Ends all sessions but this one. A thief of the session does not know the present password, which counts as a
  /// guess.
  func changePassword(_ visit: Visit) async -> HTTPResponse {
    typealias Field = Form.Field
    let account = visit.operator
    guard let configured = account.password else { return malformed(visit.request) }
    guard isFresh(visit) else { return await self.account(visit, .signInAgain, .forbidden) }
    let new = visit.field(Field.newPassword)
    guard PasswordHash.passwordBytes.contains(new.utf8.count) else { return await self.account(visit, .passwordLength) }
    guard new.utf8.elementsEqual(visit.field(Field.repeated).utf8) else {
      return await self.account(visit, .passwordsDiffer)
    }
    let present = Credential(account, visit.stored, standIn: configured)
    let browser = browsers.browser(
      in: ConsoleCookie.browser(in: visit.request), of: account.name, present.hash.digest, at: clock())
    let attempt = SignInGuard.Attempt(
      name: SignInGuard.key(of: account.name), isKnown: true, browser: browser, address: visit.request.client)
    guard state.withLock({ $0.signIns.attempt(attempt, at: .now()) }) == .verify else {
      service.refuseOperator(.operatorLocked, account.caller, claimedOperator: account.name, by: visit.calls.peer)
      return await self.account(visit, .signInBusy, .tooManyRequests)
    }
    switch await verdict(on: SecretBytes(visit.field(Field.password).utf8), by: present, isFamiliar: true) {
    case .right: state.withLock { $0.signIns.succeeded(attempt) }
    case .wrong:
      service.refuseOperator(
        .operatorPasswordWrong, account.caller, claimedOperator: account.name, by: visit.calls.peer)
      return await self.account(visit, .presentPasswordWrong, .forbidden)
    case .busy, .failed:
      state.withLock { $0.signIns.withdrawn(attempt, at: .now()) }
      return await self.account(visit, .signInBusy, .unavailable)
    }
    // Both hashes cost the same, so that no time tells who has an own password.
    let hash = await passwords.hash(service.peppered(SecretBytes(new.utf8)), parameters: configured.parameters)
    guard let hash else { return await self.account(visit, .signInBusy, .unavailable) }
    return await change(visit, .passwordChanged(hash), .passwordChanged)
  }

  // MARK: Passkeys

  func addPasskey(_ visit: Visit) async -> HTTPResponse {
    typealias Field = PasskeyForm.Field
    guard signInRule != .password, visit.operator.password != nil else { return malformed(visit.request) }
    guard isFresh(visit) else { return await account(visit, .signInAgain, .forbidden) }
    guard let ticket = visit.fields.bytes(Field.context), let object = visit.fields.bytes(Field.attestation),
      let client = visit.fields.bytes(Field.client)
    else { return malformed(visit.request) }
    do throws(CallFailure) {
      let _: V1.CompleteBindingResponse = try await ownCalls(visit)(
        V1.BindingService.completeBinding,
        V1.CompleteBindingRequest(
          applicationID: ApplicationID.console, ticket: ticket, deviceName: visit.field(Form.Field.name),
          passkey: V1.PasskeyRegistration(attestationObject: object, clientDataJSON: client)))
      return redirect(to: ConsolePath.account)
    } catch {
      return await account(visit, .passkeyNotAdded, error.code == .unavailable ? .unavailable : .badRequest)
    }
  }

  /// Ends all sessions but this one: the passkey may have been a thief's.
  func removePasskey(_ visit: Visit) async -> HTTPResponse {
    guard isFresh(visit) else { return await account(visit, .signInAgain, .forbidden) }
    return await change(visit, .passkeyRemoved(bindingID: visit.field(Form.Field.target)), .passkeyRemoved)
  }

  // MARK: Sessions

  func endSessions(_ visit: Visit) async -> HTTPResponse {
    let ended = await service.changeOperator(
      .sessionsEnded, of: visit.operator.accountID, basis: visit.operator.basis, by: visit.operator.caller,
      from: visit.calls.peer)
    return ended == nil ? await account(visit, .storeFails, .unavailable) : self.ended()
  }

  /// Changes the account, and goes on with this session alone.
  private func change(_ visit: Visit, _ change: OperatorChange, _ done: Phrase) async -> HTTPResponse {
    let account = visit.operator
    let changed = await service.changeOperator(
      change, of: account.accountID, basis: account.basis, by: account.caller, from: visit.calls.peer)
    guard let changed else { return await self.account(visit, .storeFails, .unavailable) }
    var visit = visit
    visit.stored = changed
    visit.session.epoch = changed.epoch
    let isSecure = ConsoleCookie.session(in: visit.request)?.isSecure == true
    var response = await self.account(visit, done, isError: false, .ok)
    response.fields.append(cookie(renewing: visit.session, visit.key, in: visit.request))
    let standIn = Credential(account, changed, standIn: account.password ?? .standIn(PasswordHash.standard))
    response.fields.append(proof(of: account.name, standIn.hash.digest, isSecure: isSecure, visit.request))
    return response
  }
}
