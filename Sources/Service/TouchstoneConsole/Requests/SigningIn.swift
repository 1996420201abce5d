// Signing in by a password, and out.

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstoneService

extension Console {
  /// The hash in force: the operator's own, whose passwords have a pepper, or the configuration's.
  struct Credential: Sendable {
    let hash: PasswordHash
    let isOwn: Bool

    init(_ account: Operator?, _ stored: OperatorAccount, standIn: PasswordHash) {
      let own = account.flatMap { $0.basis == stored.basis ? stored.password : nil }
      (hash, isOwn) = (own ?? account?.password ?? standIn, own != nil)
    }
  }

  func signInPage(_ request: HTTPRequest) async -> HTTPResponse {
    if let repetition = repetition(of: request) { return repetition }
    if case .signedIn = await standing(of: request) { return redirect(to: ConsolePath.home) }
    let isOut = request.queryFields?["out"] == "yes"
    return await signInPage(request, to: ConsolePath.home, isOut ? .signedOut : nil, .ok)
  }

  /// - Parameter page: shown after the sign-in.
  func signInPage(
    _ request: HTTPRequest, to page: String, _ notice: Phrase?, minutes: Int = 0, _ status: HTTPStatus
  ) async -> HTTPResponse {
    var reader = reader(of: request)
    if reader.path == ConsolePath.home, request.head.path != ConsolePath.home { reader.path = ConsolePath.signIn }
    var view = SignInView(page: page, notice: notice.map { reader($0, "\(minutes)") }, isError: notice != .signedOut)
    if let provider {
      view.provider = (provider.settings.issuer, reader.link(ConsolePath.signInOpenID, [(Form.Field.page, page)]))
    }
    view.hasAccounts = state.withLock { $0.operators?.isEmpty == false }
    if signInRule == .passkey, view.hasAccounts { view.passkey = await newAssertion(by: request) }
    return ConsoleResponse.page(.signIn(reader, view), for: reader, status)
  }

  func signIn(_ request: HTTPRequest) async -> HTTPResponse {
    guard isOwn(request) else { return forged(request, by: .stranger(nil)) }
    guard let fields = request.formFields, let name = fields[Form.Field.name],
      let password = fields[Form.Field.password], let register = state.withLock({ $0.operators })
    else { return malformed(request) }
    let page = page(in: fields)
    let known = register[name]
    // An unknown name is read, too, so that no time tells which names exist.
    guard let stored = await service.operatorAccount(known?.accountID ?? "unknown:\(SignInGuard.text(of: name))") else {
      return await signInPage(request, to: page, .signInNotRecorded, .unavailable)
    }
    let credential = Credential(known, stored, standIn: register.standIn)
    let browser = browsers.browser(
      in: ConsoleCookie.browser(in: request), of: name, credential.hash.digest, at: clock())
    let attempt = SignInGuard.Attempt(
      name: SignInGuard.key(of: name), isKnown: known != nil, browser: known == nil ? nil : browser,
      address: request.client)
    if let refusal = await admit(attempt, known?.name, request, to: page) { return refusal }
    switch await verdict(on: SecretBytes(password.utf8), by: credential, isFamiliar: attempt.browser != nil) {
    case .right:
      guard let known else { return await signInPage(request, to: page, .signInFailed, .forbidden) }
      state.withLock { $0.signIns.succeeded(attempt) }
      return await accept(known, stored, credential, request, to: page)
    case .wrong:
      service.refuseOperator(.operatorPasswordWrong, nil, claimedOperator: known?.name, by: peer(of: request))
      return await signInPage(request, to: page, .signInFailed, .forbidden)
    case .busy, .failed:
      state.withLock { $0.signIns.withdrawn(attempt, at: .now()) }
      return await signInPage(request, to: page, .signInBusy, .unavailable)
    }
  }

  /// Counts an attempt at a password or with a provider's code; `nil`: it may be verified.
  func admit(
    _ attempt: SignInGuard.Attempt, _ name: String?, _ request: HTTPRequest, to page: String
  ) async -> HTTPResponse? {
    switch state.withLock({ $0.signIns.attempt(attempt, at: .now()) }) {
    case .verify: return nil
    case .locked(let wait):
      service.refuseOperator(.operatorLocked, nil, claimedOperator: name, by: peer(of: request))
      let minutes = max(1, Int((wait.components.seconds + 59) / 60))
      let notice: Phrase = minutes == 1 ? .signInLockedForMinute : .signInLocked
      return await signInPage(request, to: page, notice, minutes: minutes, .tooManyRequests)
    case .crowded:
      service.refuseOperator(.operatorLocked, nil, claimedOperator: name, by: peer(of: request))
      return await signInPage(request, to: page, .signInBusy, .unavailable)
    }
  }

  func verdict(
    on password: SecretBytes, by credential: Credential, isFamiliar: Bool
  ) async -> PasswordChecks.Verdict {
    let password = credential.isOwn ? service.peppered(password) : password
    return await passwords.verdict(on: password, by: credential.hash, isFamiliar: isFamiliar)
  }

  func page(in fields: FormFields) -> String {
    fields[Form.Field.page].flatMap { ConsolePath.isPage($0) ? $0 : nil } ?? ConsolePath.home
  }

  /// The password was right. A record of another basis is void: it may be that of an earlier person with this name.
  private func accept(
    _ account: Operator, _ read: OperatorAccount, _ credential: Credential, _ request: HTTPRequest, to page: String
  ) async -> HTTPResponse {
    var stored = read
    if stored.basis != account.basis, signInRule != .password || !stored.basis.isEmpty {
      let reset = await service.changeOperator(
        .reset, of: account.accountID, basis: account.basis, by: account.caller, from: peer(of: request))
      guard let reset else { return await signInPage(request, to: page, .signInNotRecorded, .unavailable) }
      stored = reset
    }
    if signInRule == .password || stored.passkeyCount == 0 {
      return await begin(account, stored, .password, credential, to: page, request)
    }
    guard signInRule == .passwordAndPasskey else {
      service.refuseOperator(.operatorPasskeyWrong, nil, claimedOperator: account.name, by: peer(of: request))
      return await signInPage(request, to: page, .passkeyNeeded, .forbidden)
    }
    return await passkeyPage(account, stored, to: page, request)
  }

  /// The way of a sign-in, in its event.
  enum Method: String {
    case password
    case passwordAndPasskey = "password_and_passkey"
    case passkey
    case openID = "openid"
  }

  /// Begins a session. Its event is durable before. A reload may have taken the operator away meanwhile.
  ///
  /// - Parameters:
  ///   - credential: whose proof the browser gets; `nil`: the account has no password here.
  ///   - keys: of the steps that led here, which serve once.
  func begin(
    _ account: Operator, _ stored: OperatorAccount, _ method: Method, _ credential: Credential?, to page: String,
    usingUp keys: [ConsoleKey] = [], details: [(key: String, value: String)] = [], _ request: HTTPRequest
  ) async -> HTTPResponse {
    let peer = peer(of: request)
    let details = [("method", method.rawValue)] + details
    switch await service.record(.signedIn, of: account.caller, details, usingUp: keys, by: peer) {
    case .written: break
    case .usedUp: return await signInPage(request, to: page, .sessionEnded, .forbidden)
    case .failed: return await signInPage(request, to: page, .signInNotRecorded, .unavailable)
    }
    if case .signedIn(_, _, let old, _) = await standing(of: request) { await service.useUp(old) }
    let key = service.newConsoleKey(lifetime: Session.absoluteTime)
    let session = Session(
      of: account, epoch: stored.epoch, formToken: Self.secretText(), from: request.client, at: clock())
    guard self.account(of: session)?.basis == session.basis else {
      return await signInPage(request, to: page, .signInFailed, .forbidden)
    }
    var response = redirect(to: page)
    let isSecure = isBehindTLS(request)
    response.fields.append(cookie(of: session, key, isSecure: isSecure))
    // An earlier session, or another program on this machine, may have left a cookie of the other name, which could
    // hide this one.
    response.fields.append(("Set-Cookie", ConsoleCookie.endOfSession(isSecure: !isSecure)))
    if let familiar = familiar(method) {
      response.fields.append(proof(of: familiar.name, familiar.basis, isSecure: isSecure, request))
    } else if let credential {
      response.fields.append(proof(of: account.name, credential.hash.digest, isSecure: isSecure, request))
    }
    return response
  }

  /// A provider's answer is no form, and has no origin.
  private func isBehindTLS(_ request: HTTPRequest) -> Bool {
    RequestOrigin.isBehindTLS(request.head, isEncrypted: request.isEncrypted)
      || request.head.method == "GET" && url?.scheme == .https
  }

  /// 256 random bits, which no one guesses.
  static func secretText() -> String { Base64URL.encode(Randomness.system.bytes(32)) }

  /// The name and the basis of proofs for a way that names nobody before it is verified. All who sign in so share them;
  /// no operator has such a name. `nil`: the way begins with the operator's name.
  func familiar(_ method: Method) -> (name: String, basis: [UInt8])? {
    switch method {
    case .openID: provider.map { ("oidc:", $0.settings.basis) }
    case .passkey: ("passkey:", [])
    case .password, .passwordAndPasskey: nil
    }
  }

  /// Counts an attempt of such a way.
  ///
  /// - Parameters:
  ///   - once: distinguishes attempts of strangers.
  ///   - browser: familiar to the way.
  func attempt(
    _ method: Method, once: String, _ browser: BrowserProofs.BrowserID?, _ request: HTTPRequest
  ) -> SignInGuard.Attempt {
    let name = browser == nil ? once : familiar(method)?.name ?? once
    return SignInGuard.Attempt(
      name: SignInGuard.key(of: name), isKnown: false, browser: browser, address: request.client)
  }

  func familiarBrowser(_ method: Method, _ request: HTTPRequest) -> BrowserProofs.BrowserID? {
    familiar(method).flatMap {
      browsers.browser(in: ConsoleCookie.browser(in: request), of: $0.name, $0.basis, at: clock())
    }
  }

  /// The cookie by which the browser is familiar to the operator.
  func proof(
    of name: String, _ basis: [UInt8], isSecure: Bool, _ request: HTTPRequest
  ) -> (StaticString, String) {
    let cookie = ConsoleCookie.browser(in: request)
    let browser = browsers.browser(in: cookie, of: name, basis, at: clock())
    let proofs = browsers.renewed(cookie, of: name, basis, browser, at: clock())
    return ("Set-Cookie", ConsoleCookie.browser(proofs, isSecure: isSecure))
  }

  func signOut(_ visit: Visit) async -> HTTPResponse {
    let recording = await service.record(
      .signedOut, of: visit.operator.caller, usingUp: [visit.key], by: visit.calls.peer)
    // A copy of the cookie would still open the session.
    if case .failed = recording { return message(visit.request, [.storeFails], .unavailable) }
    return ended()
  }

  /// After the end of the session.
  func ended() -> HTTPResponse {
    var response = redirect(to: ConsoleLink.path(ConsolePath.signIn, [("out", "yes")]))
    for isSecure in [true, false] {
      response.fields.append(("Set-Cookie", ConsoleCookie.endOfSession(isSecure: isSecure)))
    }
    return response
  }
}
