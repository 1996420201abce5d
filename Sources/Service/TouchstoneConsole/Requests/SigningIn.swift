// Signing in and out.

internal import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstoneService

extension Console {
  /// A sign-in that was typed: the operator of that name, if there is one, and what is checked.
  private struct Attempt: Sendable {
    var name: String
    var password: SecretBytes
    var known: Operator?
    var hash: PasswordHash
    /// After it, as a page of the console.
    var page: String

    /// The browser, if the operator signed in with it before.
    var browser: BrowserProofs.BrowserID?
    var address: SocketAddress

    var counted: SignInGuard.Attempt {
      SignInGuard.Attempt(name: SignInGuard.key(of: name), isKnown: known != nil, browser: browser, address: address)
    }
  }

  func signInPage(_ request: HTTPRequest) -> HTTPResponse {
    if let repetition = repetition(of: request) { return repetition }
    if case .signedIn = standing(of: request) { return redirect(to: ConsolePath.home) }
    let isOut = request.queryFields?["out"] == "yes"
    return signInPage(request, to: ConsolePath.home, isOut ? .signedOut : nil, .ok)
  }

  private func signInPage(
    _ request: HTTPRequest, to page: String, _ notice: Phrase?, minutes: Int = 0, _ status: HTTPStatus
  ) -> HTTPResponse {
    var reader = reader(of: request)
    if reader.path == ConsolePath.home { reader.path = ConsolePath.signIn }
    let text = notice.map { reader($0, "\(minutes)") }
    let html = Page.signIn(reader, to: page, notice: text, isError: status != .ok).html(for: reader)
    return ConsoleResponse.page(html, status)
  }

  func signIn(_ request: HTTPRequest) async -> HTTPResponse {
    guard isOwn(request) else { return forged(request, by: .stranger(nil)) }
    guard let fields = request.formFields, let attempt = attempt(fields, request) else { return malformed(request) }
    switch state.withLock({ $0.signIns.attempt(attempt.counted, at: .now()) }) {
    case .verify: break
    case .locked(let wait):
      service.refuseOperator(.operatorLocked, nil, claimedOperator: attempt.known?.name, by: peer(of: request))
      let minutes = max(1, Int((wait.components.seconds + 59) / 60))
      let notice: Phrase = minutes == 1 ? .signInLockedForMinute : .signInLocked
      return signInPage(request, to: attempt.page, notice, minutes: minutes, .tooManyRequests)
    case .crowded:
      service.refuseOperator(.operatorLocked, nil, claimedOperator: attempt.known?.name, by: peer(of: request))
      return signInPage(request, to: attempt.page, .signInBusy, .unavailable)
    }
    switch await passwords.verdict(on: attempt.password, by: attempt.hash, isFamiliar: attempt.browser != nil) {
    case .right: return await accept(attempt, request)
    case .wrong:
      service.refuseOperator(.operatorPasswordWrong, nil, claimedOperator: attempt.known?.name, by: peer(of: request))
      return signInPage(request, to: attempt.page, .signInFailed, .forbidden)
    case .busy, .failed:
      state.withLock { $0.signIns.withdrawn(attempt.counted, at: .now()) }
      return signInPage(request, to: attempt.page, .signInBusy, .unavailable)
    }
  }

  private func attempt(_ fields: FormFields, _ request: HTTPRequest) -> Attempt? {
    guard let name = fields[Form.Field.name], let password = fields[Form.Field.password],
      let register = state.withLock({ $0.operators })
    else {
      return nil
    }
    let page = fields[Form.Field.page].flatMap { ConsolePath.isPage($0) ? $0 : nil } ?? ConsolePath.home
    let known = register[name]
    let hash = known?.definition.password ?? register.standIn
    // For an unknown name as well, so that no time tells which names exist.
    let browser = browsers.browser(in: ConsoleCookie.browser(in: request), of: name, hash, at: clock())
    return Attempt(
      name: name, password: SecretBytes(password.utf8), known: known, hash: hash, page: page,
      browser: known == nil ? nil : browser, address: request.client)
  }

  /// The event is durable before the session begins. A reload may have taken the operator away meanwhile.
  private func accept(_ attempt: Attempt, _ request: HTTPRequest) async -> HTTPResponse {
    guard let account = attempt.known else { return signInPage(request, to: attempt.page, .signInFailed, .forbidden) }
    state.withLock { $0.signIns.succeeded(attempt.counted) }
    let peer = peer(of: request)
    guard await service.record(.signedIn, of: account.caller, by: peer) else {
      return signInPage(request, to: attempt.page, .signInNotRecorded, .unavailable)
    }
    let (id, key) = ids.make()
    let token = ids.formToken()
    let old = ConsoleCookie.session(in: request).flatMap { ids.key(of: $0.id) }
    let hasBegun = state.withLock { state in
      guard let present = state.operators?[account.name],
        present.definition.password.isSame(as: account.definition.password)
      else {
        return false
      }
      if let old { state.sessions.end(old) }
      state.sessions.begin(key, of: account.name, formToken: token, from: request.client, at: .now())
      return true
    }
    guard hasBegun else { return signInPage(request, to: attempt.page, .signInFailed, .forbidden) }
    var response = redirect(to: attempt.page)
    let isSecure = RequestOrigin.isBehindTLS(request.head, isEncrypted: request.isEncrypted)
    response.fields.append(("Set-Cookie", ConsoleCookie.session(id, isSecure: isSecure)))
    // An earlier session, or another program on this machine, may have left a cookie of the other name, which could
    // hide this one.
    response.fields.append(("Set-Cookie", ConsoleCookie.endOfSession(isSecure: !isSecure)))
    let proofs = browsers.renewed(
      ConsoleCookie.browser(in: request), of: account.name, attempt.hash, attempt.browser, at: clock())
    response.fields.append(("Set-Cookie", ConsoleCookie.browser(proofs, isSecure: isSecure)))
    return response
  }

  func signOut(_ visit: Visit) async -> HTTPResponse {
    state.withLock { $0.sessions.end(visit.key) }
    _ = await service.record(.signedOut, of: visit.operator.caller, by: visit.calls.peer)
    var response = redirect(to: ConsoleLink.path(ConsolePath.signIn, [("out", "yes")]))
    for isSecure in [true, false] {
      response.fields.append(("Set-Cookie", ConsoleCookie.endOfSession(isSecure: isSecure)))
    }
    return response
  }
}
