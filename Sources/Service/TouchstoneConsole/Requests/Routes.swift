// Which page answers which request, and what is checked before any page.

package import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

/// A request by a signed-in operator.
struct Visit: Sendable {
  let request: HTTPRequest
  let `operator`: Operator
  var session: Session
  let key: ConsoleKey
  /// The account in the store.
  var stored: OperatorAccount
  let reader: Reader
  let calls: OperatorCalls
  /// The query's fields, or those of a form with the right token.
  let fields: FormFields

  var maySearch: Bool { `operator`.mayCall(V1.AdministrationService.findProfiles.descriptor) }

  func field(_ name: String) -> String { fields[name] ?? "" }

  func page(_ page: Page, _ status: HTTPStatus = .ok) -> HTTPResponse {
    ConsoleResponse.page(page, for: reader, status)
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
    addAccount(to: &router)
    for basePath in basePaths {
      router.addFallback(
        under: basePath + ConsolePath.home + "/",
        handler: handler(under: basePath, answer: signedIn { [self] in noPage($0) }))
    }
  }

  private func addAccount(to router: inout HTTPRouter) {
    get(ConsolePath.account, &router) { [self] in await account($0) }
    post(ConsolePath.accountPassword, &router) { [self] in await changePassword($0) }
    post(ConsolePath.accountAdd, &router) { [self] in await addPasskey($0) }
    post(ConsolePath.accountRemove, &router) { [self] in await removePasskey($0) }
    post(ConsolePath.accountEnd, &router) { [self] in await endSessions($0) }
  }

  private func addSignIn(to router: inout HTTPRouter) {
    add("GET", ConsolePath.style, &router) { _ in ConsoleResponse.file(PackageResources.console_css, "css") }
    add("GET", ConsolePath.language, &router) { [self] in setLanguage($0) }
    add("GET", ConsolePath.offset, &router) { [self] in setOffset($0) }
    add("GET", ConsolePath.script, &router) { _ in ConsoleResponse.file(PackageResources.passkey_js, "javascript") }
    add("GET", ConsolePath.signIn, &router) { [self] in await signInPage($0) }
    add("POST", ConsolePath.signIn, &router) { [self] in await signIn($0) }
    add("GET", ConsolePath.signInOpenID, &router) { [self] in await beginOpenID($0) }
    add("GET", ConsolePath.openID, &router) { [self] in await endOpenID($0) }
    add("POST", ConsolePath.signInPasskey, &router) { [self] in await signInByPasskey($0) }
  }

  /// A route that needs no session, also under the path that a proxy may leave before the console's own.
  private func add(
    _ method: String, _ path: String, _ router: inout HTTPRouter,
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    for basePath in basePaths {
      router.add(
        method, basePath + path, maximumBodyBytes: method == "POST" ? Self.maximumFormBytes : 0,
        handler: handler(under: basePath, answer: answer))
    }
  }

  private func handler(
    under basePath: String, answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) -> HTTPRouter.Handler {
    { [self] request, exchange in
      var request = request
      request.head.path.removeFirst(basePath.count)
      if let refusal = refusal(of: request) { return exchange.answer(refusal) }
      Task { [request] in
        var response = await answer(request)
        if request.isEncrypted || url?.scheme == .https { response.requireTLS() }
        exchange.answer(response)
      }
    }
  }

  var basePath: String { url?.basePath ?? "" }
  private var basePaths: Set<String> { ["", basePath] }

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
    return ConsoleResponse.page(Page.repetition(reader), for: reader)
  }

  private func get(_ path: String, _ router: inout HTTPRouter, answer: @escaping Answer) {
    add("GET", path, &router, answer: signedIn(answer))
  }

  /// Strangers get the page to sign in.
  private func signedIn(_ answer: @escaping Answer) -> @Sendable (HTTPRequest) async -> HTTPResponse {
    { [self] request in
      if let repetition = repetition(of: request) { return repetition }
      return await answered(request, await standing(of: request), fields: { $0.queryFields }, answer)
    }
  }

  private func post(_ path: String, _ router: inout HTTPRouter, answer: @escaping Answer) {
    add("POST", path, &router) { [self] request in
      let standing = await standing(of: request)
      guard isOwn(request) else {
        return forged(request, by: standing)
      }
      if case .stranger = standing { return await signInInstead(of: request, .sessionEnded) }
      if case .signedIn(_, let session, _, _) = standing, let fields = request.formFields {
        guard let token = fields[Form.Field.token],
          areEqualInConstantTime(Array(token.utf8), Array(session.formToken.utf8))
        else {
          return forged(request, by: standing)
        }
      }
      return await answered(request, standing, fields: { $0.formFields }, answer)
    }
  }

  /// Each page that a person opens keeps the session from idling out.
  private func answered(
    _ request: HTTPRequest, _ standing: Standing, fields: (HTTPRequest) -> FormFields?, _ answer: Answer
  ) async -> HTTPResponse {
    switch standing {
    case .stranger(let notice): return await signInInstead(of: request, notice)
    case .unknown: return message(request, [.storeFails], .unavailable)
    case .signedIn(let account, let session, let key, let stored):
      guard let fields = fields(request) else { return malformed(request) }
      let mayMove = !needsPasskey(account, stored) || ConsolePath.isOfAccount(request.head.path)
      guard mayMove else { return redirect(to: ConsolePath.account) }
      var response = await answer(visit(request, account, session, key, stored, fields))
      if !request.isByFollowingPage, !ConsoleCookie.isSetting(response) {
        response.fields.append(cookie(renewing: session, key, in: request))
      }
      return response
    }
  }

  // MARK: Before any page

  private func refusal(of request: HTTPRequest) -> HTTPResponse? {
    guard state.withLock({ $0.operators != nil }) else { return .text(.notFound) }
    // Passwords and sessions must not be readable on the way.
    guard request.isEncrypted || request.client.isLocal else {
      return message(request, [.plaintext], .forbidden)
    }
    return nil
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
    let offset = request.head.cookie(ConsoleCookie.offsetName).flatMap(TimeOffset.named) ?? .utc
    return Reader(
      language: language(of: request), path: isPage ? path : ConsolePath.home, offset: offset, now: clock().seconds,
      basePath: basePath)
  }

  private func visit(
    _ request: HTTPRequest, _ account: Operator, _ session: Session, _ key: ConsoleKey, _ stored: OperatorAccount,
    _ fields: FormFields
  ) -> Visit {
    var reader = reader(of: request)
    var applications: [String]?
    if case .these(let own) = account.applications { applications = own }
    reader.signedIn = Reader.SignedIn(
      name: account.name, role: account.role, formToken: session.formToken, applications: applications)
    reader.application = fields[Form.Field.application] ?? ""
    let calls = OperatorCalls(
      service: service, methods: methods, loop: loop, caller: account.caller, peer: peer(of: request),
      language: reader.language)
    return Visit(
      request: request, operator: account, session: session, key: key, stored: stored, reader: reader, calls: calls,
      fields: fields)
  }

  // MARK: Refusals

  private func noPage(_ visit: Visit) -> HTTPResponse {
    visit.page(
      .message(visit.reader, .notFound, [visit.reader(.noPage)], back: (.backToSearch, ConsolePath.home)), .notFound)
  }

  /// The sign-in leads back to the page, and to a form with the reason that was typed into it.
  private func signInInstead(of request: HTTPRequest, _ notice: Phrase?) async -> HTTPResponse {
    var request = request
    if request.head.path == ConsolePath.action, let order = request.formFields.flatMap(Self.unfinished) {
      (request.head.method, request.head.query) = ("GET", order)
    }
    return await signInPage(request, to: reader(of: request).path, notice, .forbidden)
  }

  /// The query of a form that was not accepted. A reason that is too long for a path is left out.
  private static func unfinished(_ form: FormFields) -> String? {
    typealias Field = Form.Field
    func path(_ names: String...) -> String {
      ConsoleLink.path(ConsolePath.action, names.compactMap { name in form[name].map { (name, $0) } })
    }
    let paths = [
      path(Field.action, Field.application, Field.profile, Field.target, Field.reason),
      path(Field.action, Field.application, Field.profile, Field.target),
    ]
    return paths.first(where: ConsolePath.isPage)?.split(separator: "?", maxSplits: 1).last.map(String.init)
  }

  /// A refusal to a reader who may be no operator.
  func message(
    _ request: HTTPRequest, _ sentences: [Phrase], back: (Phrase, String)? = nil, _ status: HTTPStatus
  ) -> HTTPResponse {
    let reader = reader(of: request)
    return ConsoleResponse.page(
      .message(reader, .refused, sentences.map { reader($0) }, back: back), for: reader, status)
  }

  func malformed(_ request: HTTPRequest) -> HTTPResponse {
    message(request, [.malformedRequest], back: (.backToSearch, ConsolePath.home), .badRequest)
  }

  func isOwn(_ request: HTTPRequest) -> Bool {
    RequestOrigin.isOwn(request.head, isEncrypted: request.isEncrypted, url: url)
  }

  /// A form that no page of the console sent in this session: another site may act in the operator's name.
  func forged(_ request: HTTPRequest, by standing: Standing) -> HTTPResponse {
    var caller: IdentifiedCaller?
    if case .signedIn(let account, _, _, _) = standing { caller = account.caller }
    service.refuseOperator(.operatorRequestForged, caller, by: peer(of: request))
    return message(
      request, isOwn(request) ? [.forgedForm] : [.forgedForm, .hostRemedy], back: (.backToSearch, ConsolePath.home),
      .forbidden)
  }

  private func setLanguage(_ request: HTTPRequest) -> HTTPResponse {
    guard let fields = request.queryFields, let language = Language.allCases.first(where: { $0.tag == fields["to"] })
    else {
      return malformed(request)
    }
    return remembering(ConsoleCookie.languageName, language.tag, fields, request)
  }

  private func setOffset(_ request: HTTPRequest) -> HTTPResponse {
    guard let fields = request.queryFields, let offset = fields["to"].flatMap(TimeOffset.named) else {
      return malformed(request)
    }
    return remembering(ConsoleCookie.offsetName, "\(offset.minutes)", fields, request)
  }

  /// Leads back to the page, with a choice of the reader in a cookie.
  private func remembering(
    _ name: String, _ value: String, _ fields: FormFields, _ request: HTTPRequest
  ) -> HTTPResponse {
    var response = redirect(to: page(in: fields))
    let cookie = ConsoleCookie.choice(
      name, value, path: basePath + ConsolePath.home, isEncrypted: request.isEncrypted)
    response.fields.append(("Set-Cookie", cookie))
    return response
  }
}

extension HTTPRequest {
  /// The page of events loads itself again and again, also when no operator is there any more.
  var isByFollowingPage: Bool { head.path == ConsolePath.events && queryFields?["follow"] == "yes" }
}
