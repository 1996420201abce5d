// Which page answers which request, and what is checked before any page.

package import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneService

/// A request by a signed-in operator.
struct Visit: Sendable {
  let request: HTTPRequest
  let `operator`: Operator
  let key: SessionTable.Key
  let reader: Reader
  let calls: OperatorCalls
  /// The query's fields, or those of a form with the right token.
  let fields: FormFields

  var maySearch: Bool { `operator`.mayCall(V1.AdministrationService.findProfiles.descriptor) }

  func field(_ name: String) -> String { fields[name] ?? "" }

  func page(_ page: Page, _ status: HTTPStatus = .ok) -> HTTPResponse {
    ConsoleResponse.page(page.html(for: reader), status)
  }
}

extension Console {
  /// The bytes of one form: a reason, and identifiers.
  private static let maximumFormBytes = 16 << 10

  private typealias Answer = @Sendable (Visit) async -> HTTPResponse

  package func addRoutes(to router: inout HTTPRouter) {
    addSignIn(to: &router)
    get(ConsolePath.home, &router) { [self] in home($0) }
    get(ConsolePath.find, &router) { [self] in await find($0) }
    get(ConsolePath.device, &router) { [self] in await device($0) }
    get(ConsolePath.profile, &router) { [self] in await profile($0) }
    get(ConsolePath.action, &router) { [self] in await confirmation($0) }
    post(ConsolePath.action, &router) { [self] in await act($0) }
    get(ConsolePath.events, &router) { [self] in await events($0) }
    get(ConsolePath.export, &router) { [self] in await export($0) }
    get(ConsolePath.policies, &router) { [self] in policies($0) }
    get(ConsolePath.explain, &router) { [self] in await explain($0) }
    get(ConsolePath.health, &router) { [self] in await health($0) }
    post(ConsolePath.signOut, &router) { [self] in await signOut($0) }
  }

  private func addSignIn(to router: inout HTTPRouter) {
    add("GET", ConsolePath.style, &router) { _ in ConsoleResponse.style(PackageResources.console_css) }
    add("GET", ConsolePath.language, &router) { [self] in setLanguage($0) }
    add("GET", ConsolePath.signIn, &router) { [self] in signInPage($0) }
    add("POST", ConsolePath.signIn, &router) { [self] in await signIn($0) }
  }

  /// A route that needs no session, also under the path that a proxy may leave before the console's own.
  private func add(
    _ method: String, _ path: String, _ router: inout HTTPRouter,
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    for basePath in Set(["", self.basePath]) {
      router.add(method, basePath + path, maximumBodyBytes: method == "POST" ? Self.maximumFormBytes : 0) {
        [self] request, exchange in
        var request = request
        request.head.path = path
        if let refusal = refusal(of: request) { return exchange.answer(refusal) }
        Task { [request] in
          var response = await answer(request)
          if request.isEncrypted || url?.scheme == .https { response.requireTLS() }
          exchange.answer(response)
        }
      }
    }
  }

  private var basePath: String { url?.basePath ?? "" }

  /// - Parameter path: of the console.
  func redirect(to path: String) -> HTTPResponse { ConsoleResponse.redirect(to: basePath + path) }

  /// The page that opens the requested one anew, if the browser left out its cookies because another site's page led
  /// here.
  func repetition(of request: HTTPRequest) -> HTTPResponse? {
    guard ConsoleCookie.session(in: request) == nil, RequestOrigin.isLinkOfOtherSite(request.head),
      request.head.query?.hasSuffix(ConsoleLink.repeated) != true
    else {
      return nil
    }
    let reader = reader(of: request)
    return ConsoleResponse.page(Page.repetition(reader).html(for: reader))
  }

  private func get(_ path: String, _ router: inout HTTPRouter, answer: @escaping Answer) {
    add("GET", path, &router) { [self] request in
      if let repetition = repetition(of: request) { return repetition }
      switch standing(of: request) {
      case .stranger(let notice): return signInInstead(of: request, notice)
      case .signedIn(let account, let session, let key):
        guard let fields = request.queryFields else { return malformed(request) }
        return await answer(visit(request, account, session, key, fields))
      }
    }
  }

  private func post(_ path: String, _ router: inout HTTPRouter, answer: @escaping Answer) {
    add("POST", path, &router) { [self] request in
      let standing = standing(of: request)
      guard isOwn(request) else {
        return forged(request, by: standing)
      }
      guard case .signedIn(let account, let session, let key) = standing else {
        return signInInstead(of: request, .sessionEnded)
      }
      guard let fields = request.formFields else { return malformed(request) }
      guard let token = fields[Form.Field.token], ids.areEqual(token, session.formToken) else {
        return forged(request, by: standing)
      }
      return await answer(visit(request, account, session, key, fields))
    }
  }

  // MARK: Before any page

  private func refusal(of request: HTTPRequest) -> HTTPResponse? {
    guard state.withLock({ $0.operators?.isEmpty == false }) else { return .text(.notFound) }
    // Passwords and sessions must not be readable on the way.
    guard request.isEncrypted || request.client.isLocal else {
      let reader = reader(of: request)
      return ConsoleResponse.page(Page.message(reader, .refused, [reader(.plaintext)]).html(for: reader), .forbidden)
    }
    return nil
  }

  enum Standing: Sendable {
    case signedIn(Operator, SessionTable.Session, SessionTable.Key)
    /// With a notice, if the browser was signed in before.
    case stranger(Phrase?)
  }

  func standing(of request: HTTPRequest) -> Standing {
    guard let id = ConsoleCookie.session(in: request)?.id, !id.isEmpty else { return .stranger(nil) }
    guard id.utf8.count <= ConsoleCookie.maximumBytes, let key = ids.key(of: id) else {
      service.refuseOperator(.operatorSessionForged, nil, by: peer(of: request))
      return .stranger(.sessionEnded)
    }
    let (use, register) = state.withLock { state in
      (
        state.sessions.use(key, from: request.client, isByPerson: !request.isByFollowingPage, at: .now()),
        state.operators
      )
    }
    switch use {
    case .ended: return .stranger(.sessionEnded)
    case .moved(let session):
      service.refuseOperator(
        .operatorSessionMoved, register?[session.operatorName]?.caller, claimedOperator: session.operatorName,
        by: peer(of: request))
      return .stranger(.sessionMoved)
    case .session(let session):
      guard let account = register?[session.operatorName] else { return .stranger(.sessionEnded) }
      return .signedIn(account, session, key)
    }
  }

  func peer(of request: HTTPRequest) -> RPCPeer {
    RPCPeer(address: request.client, isEncrypted: request.isEncrypted)
  }

  func language(of request: HTTPRequest) -> Language {
    let chosen = request.head.cookie(ConsoleCookie.languageName).flatMap { tag in
      Language.allCases.first { $0.tag == tag }
    }
    return chosen ?? Language(acceptLanguage: request.head.fields.values(of: "accept-language").joined(separator: ","))
  }

  func reader(of request: HTTPRequest) -> Reader {
    var path = request.head.path + (request.head.query.map { "?\($0)" } ?? "")
    if path.hasSuffix("?" + ConsoleLink.repeated) || path.hasSuffix("&" + ConsoleLink.repeated) {
      path.removeLast(ConsoleLink.repeated.count + 1)
    }
    let isPage = request.head.method != "POST" && ConsolePath.isPage(path)
    return Reader(language: language(of: request), path: isPage ? path : ConsolePath.home, basePath: basePath)
  }

  private func visit(
    _ request: HTTPRequest, _ account: Operator, _ session: SessionTable.Session, _ key: SessionTable.Key,
    _ fields: FormFields
  ) -> Visit {
    var reader = reader(of: request)
    var applications: [String]?
    if case .these(let own) = account.definition.applications { applications = own }
    reader.signedIn = Reader.SignedIn(
      name: account.name, role: account.definition.role, formToken: session.formToken, applications: applications)
    reader.application = fields[Form.Field.application] ?? ""
    let calls = OperatorCalls(
      service: service, methods: methods, loop: loop, caller: account.caller, peer: peer(of: request),
      language: reader.language)
    return Visit(request: request, operator: account, key: key, reader: reader, calls: calls, fields: fields)
  }

  // MARK: Refusals

  private func signInInstead(of request: HTTPRequest, _ notice: Phrase?) -> HTTPResponse {
    let reader = reader(of: request)
    let page = Page.signIn(reader, to: reader.path, notice: notice.map { reader($0) }, isError: notice != nil)
    return ConsoleResponse.page(page.html(for: reader), .forbidden)
  }

  func malformed(_ request: HTTPRequest) -> HTTPResponse {
    let reader = reader(of: request)
    let page = Page.message(reader, .refused, [reader(.malformedRequest)], back: (.backToSearch, ConsolePath.home))
    return ConsoleResponse.page(page.html(for: reader), .badRequest)
  }

  func isOwn(_ request: HTTPRequest) -> Bool {
    RequestOrigin.isOwn(request.head, isEncrypted: request.isEncrypted, url: url)
  }

  /// A form that no page of the console sent in this session: another site may act in the operator's name.
  func forged(_ request: HTTPRequest, by standing: Standing) -> HTTPResponse {
    var caller: IdentifiedCaller?
    if case .signedIn(let account, _, _) = standing { caller = account.caller }
    service.refuseOperator(.operatorRequestForged, caller, by: peer(of: request))
    let reader = reader(of: request)
    let sentences = [reader(.forgedForm)] + (isOwn(request) ? [] : [reader(.hostRemedy)])
    let page = Page.message(reader, .refused, sentences, back: (.backToSearch, ConsolePath.home))
    return ConsoleResponse.page(page.html(for: reader), .forbidden)
  }

  private func setLanguage(_ request: HTTPRequest) -> HTTPResponse {
    guard let fields = request.queryFields, let language = Language.allCases.first(where: { $0.tag == fields["to"] })
    else {
      return malformed(request)
    }
    let page = fields[Form.Field.page].flatMap { ConsolePath.isPage($0) ? $0 : nil } ?? ConsolePath.home
    var response = redirect(to: page)
    let path = basePath + ConsolePath.home
    response.fields.append(
      ("Set-Cookie", ConsoleCookie.language(language.tag, path: path, isEncrypted: request.isEncrypted)))
    return response
  }
}

extension HTTPRequest {
  /// The page of events loads itself again and again, also when no operator is there any more.
  var isByFollowingPage: Bool { head.path == ConsolePath.events && queryFields?["follow"] == "yes" }
}
