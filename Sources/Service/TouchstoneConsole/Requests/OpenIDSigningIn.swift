// Signing in by OpenID Connect: an authorization code with PKCE (RFC 7636), for one issuer.

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneAttestation
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

/// A sign-in that the provider is to answer, in this browser's sealed cookie.
private struct PendingSignIn {
  var state: String
  var nonce: String
  var verifier: String
  /// Shown after it.
  var page: String
  /// From which it began, if people signed in so there before. The provider's answer brings no strict cookie.
  var browser: BrowserProofs.BrowserID?

  init(to page: String, in browser: BrowserProofs.BrowserID?) {
    (state, nonce, verifier) = (Console.secretText(), Console.secretText(), Console.secretText())
    (self.page, self.browser) = (page, browser)
  }

  /// No line has a line feed.
  var bytes: [UInt8] {
    Array([state, nonce, verifier, page, Base64URL.encode(browser ?? [])].joined(separator: "\n").utf8)
  }

  init?(_ bytes: [UInt8]) {
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    guard lines.count == 5, let browser = Base64URL.decode(lines[4]) else { return nil }
    (state, nonce, verifier, page) = (lines[0], lines[1], lines[2], lines[3])
    self.browser = browser.isEmpty ? nil : browser
  }
}

extension Console {
  /// A person signs in at the provider meanwhile.
  static let openIDTime = Duration.seconds(10 * 60)

  /// Registered at the provider. `nil` without `console_url`, which the provider's section requires.
  private var redirectURL: String? {
    url.map { url in
      let port = url.authority.port.map { ":\($0)" } ?? ""
      return "\(url.scheme.rawValue)://\(url.authority.host)\(port)\(url.basePath)\(ConsolePath.openID)"
    }
  }

  /// A link, not a form: no page's policy lets a form lead to the provider.
  func beginOpenID(_ request: HTTPRequest) async -> HTTPResponse {
    guard let provider, let redirectURL, let fields = request.queryFields else { return malformed(request) }
    let page = page(in: fields)
    // No other site begins a sign-in.
    guard !RequestOrigin.isLinkOfOtherSite(request.head) else { return await signInPage(request, to: page, nil, .ok) }
    do throws(OpenIDProvider.Failure) {
      let description = try await provider.description()
      let endpoint = description.authorizationEndpoint
      guard HTTPSURL(endpoint) != nil else {
        throw OpenIDProvider.Failure(reason: "the authorization endpoint is no https URL", isRefusal: true)
      }
      let pending = PendingSignIn(to: page, in: familiarBrowser(.openID, request))
      let query = ConsoleLink.path(
        "",
        [
          ("response_type", "code"), ("client_id", provider.settings.clientID), ("redirect_uri", redirectURL),
          ("scope", description.scope), ("state", pending.state), ("nonce", pending.nonce),
          ("code_challenge", Base64URL.encode(sha256(Array(pending.verifier.utf8)))), ("code_challenge_method", "S256"),
        ])
      var response = ConsoleResponse.redirect(to: endpoint + (endpoint.contains("?") ? "&\(query.dropFirst())" : query))
      let key = service.newConsoleKey(lifetime: Self.openIDTime)
      let value = Base64URL.encode(service.seal(pending.bytes, key, as: .openID))
      response.fields.append(openIDCookie(value))
      return response
    } catch {
      return await failed(error, request, to: page)
    }
  }

  private func openIDCookie(_ value: String) -> (StaticString, String) {
    let isSecure = url?.scheme == .https
    return ("Set-Cookie", ConsoleCookie.openID(value, path: basePath + ConsolePath.openID, isSecure: isSecure))
  }

  /// The provider sent the browser back.
  func endOpenID(_ request: HTTPRequest) async -> HTTPResponse {
    guard let provider, let redirectURL, let fields = request.queryFields else { return malformed(request) }
    let sealed = ConsoleCookie.openID(in: request, isSecure: url?.scheme == .https).flatMap { Base64URL.decode($0) }
    guard let (key, content) = sealed.flatMap({ service.open($0, as: .openID) }), service.isCurrent(key),
      let pending = PendingSignIn(content), let state = fields["state"],
      areEqualInConstantTime(Array(state.utf8), Array(pending.state.utf8))
    else {
      // The answer is another browser's, it is too late, or an attacker slipped in a code of their own.
      service.refuseOperator(.operatorProviderRefused, nil, by: peer(of: request))
      return await signInPage(request, to: ConsolePath.home, .providerForgotten, .forbidden)
    }
    // As a guess at a password: strangers cannot have this process call the provider without end.
    let attempt = attempt(.openID, once: pending.state, pending.browser, request)
    if let refusal = await admit(attempt, nil, request, to: pending.page) { return refusal }
    do throws(OpenIDProvider.Failure) {
      // RFC 9207: an answer of another provider.
      guard fields["iss"].map({ $0.utf8.elementsEqual(provider.settings.issuer.utf8) }) ?? true,
        let code = fields["code"], fields["error"] == nil
      else { throw OpenIDProvider.Failure(reason: "the provider gives no code", isRefusal: true) }
      let token = try await provider.redeem(
        code: code, verifier: pending.verifier, redirect: redirectURL, nonce: pending.nonce, at: clock().seconds)
      self.state.withLock { $0.signIns.succeeded(attempt) }
      return await accept(token, provider.settings, key, request, to: pending.page)
    } catch {
      if !error.isRefusal { self.state.withLock { $0.signIns.withdrawn(attempt, at: .now()) } }
      return await failed(error, request, to: pending.page)
    }
  }

  private func accept(
    _ token: IDToken, _ settings: OpenIDSettings, _ key: ConsoleKey, _ request: HTTPRequest, to page: String
  ) async -> HTTPResponse {
    guard let role = settings.role(of: token.groups) else {
      service.refuseOperator(
        .operatorRoleMissing, nil, claimedOperator: "oidc:\(token.name)", by: peer(of: request))
      return await signInPage(request, to: page, .roleMissing, .forbidden)
    }
    let account = settings.account(token, role)
    guard let stored = await service.operatorAccount(account.accountID) else {
      return await signInPage(request, to: page, .signInNotRecorded, .unavailable)
    }
    var response = await begin(
      account, stored, .openID, nil, to: page, usingUp: [key], details: [("subject", token.subject)], request)
    response.fields.append(openIDCookie(""))
    return response
  }

  private func failed(_ failure: OpenIDProvider.Failure, _ request: HTTPRequest, to page: String) async -> HTTPResponse
  {
    service.refuseOperator(
      failure.isRefusal ? .operatorProviderRefused : .operatorProviderUnreachable, nil, by: peer(of: request))
    provider?.noteFailure(failure.reason)
    return await signInPage(
      request, to: page, failure.isRefusal ? .providerRefused : .providerDown,
      failure.isRefusal ? .forbidden : .unavailable)
  }
}
