// Whose session a request is in: the cookie, what the store has of the session and the account, and the configuration.

internal import DispatchHTTP
internal import Encodings
internal import Synchronization
internal import TouchstoneService

extension Console {
  enum Standing: Sendable {
    case signedIn(Operator, Session, ConsoleKey, OperatorAccount)
    /// With a notice, if the browser was signed in before.
    case stranger(Phrase?)
    /// The store does not answer.
    case unknown
  }

  func standing(of request: HTTPRequest) async -> Standing {
    guard let text = ConsoleCookie.session(in: request)?.id, !text.isEmpty else { return .stranger(nil) }
    guard text.utf8.count <= ConsoleCookie.maximumBytes, let sealed = Base64URL.decode(text),
      let (key, content) = service.open(sealed, as: .session)
    else {
      service.refuseOperator(.operatorSessionForged, nil, by: peer(of: request))
      return .stranger(.sessionEnded)
    }
    let now = clock()
    guard service.isCurrent(key), let session = Session(content),
      let account = account(of: session), account.basis == session.basis
    else { return .stranger(.sessionEnded) }
    let verdict = session.verdict(expiresAt: key.expiresAt, from: request.client, at: now)
    guard verdict != .over else { return .stranger(.sessionEnded) }
    guard let stored = await service.operatorAccount(session.accountID, key) else { return .unknown }
    guard !stored.isUsedUp, stored.epoch == session.epoch else { return .stranger(.sessionEnded) }
    guard verdict == .open else {
      await service.useUp(key)
      service.refuseOperator(
        .operatorSessionMoved, account.caller, claimedOperator: session.name, by: peer(of: request))
      return .stranger(.sessionMoved)
    }
    return .signedIn(account, session, key, stored)
  }

  func account(of session: Session) -> Operator? {
    guard let role = session.role else { return state.withLock { $0.operators }?[session.name] }
    return provider?.settings.account(name: session.name, role, id: session.accountID)
  }

  /// Whether the operator must add a passkey before anything else.
  func needsPasskey(_ account: Operator, _ stored: OperatorAccount) -> Bool {
    signInRule != .password && account.password != nil && stored.passkeyCount == 0
  }

  // MARK: Cookies

  func cookie(
    of session: Session, _ key: ConsoleKey, isSecure: Bool
  ) -> (StaticString, String) {
    let id = Base64URL.encode(service.seal(session.bytes, key, as: .session))
    return ("Set-Cookie", ConsoleCookie.session(id, isSecure: isSecure))
  }

  /// The same session, used now. A notice was shown by now, or never will be.
  func cookie(renewing session: Session, _ key: ConsoleKey, in request: HTTPRequest) -> (StaticString, String) {
    var session = session
    (session.usedAt, session.notice) = (clock(), nil)
    return cookie(of: session, key, isSecure: ConsoleCookie.session(in: request)?.isSecure ?? request.isEncrypted)
  }
}
