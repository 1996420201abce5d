// Every call's first question: who calls, and may they? Here what is known of a connection's peer is kept with the
// connection, and what is refused becomes an event.

internal import DispatchRPC
internal import Logging
internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

final class AccessControl: Sendable {
  private let store: any Store
  private let clock: ServiceEnvironment.Clock
  private let authorization: Mutex<Authorization>
  private let logger: Logger
  private let throttle = Mutex(RefusalThrottle())
  private let handshakeFailures = Mutex(LogThrottle<HandshakeLine>())

  init(
    _ callers: [CallerDefinition]?, store: any Store, clock: @escaping ServiceEnvironment.Clock, logger: Logger
  ) {
    authorization = Mutex(Authorization(callers))
    self.store = store
    self.clock = clock
    self.logger = logger
  }

  /// For calls that begin later. A caller who is no longer one is known to nobody from then on, and what was sealed for it
  /// opens for no other (R34).
  func replace(_ callers: [CallerDefinition]?) {
    let replacement = Authorization(callers)
    authorization.withLock { $0 = replacement }
  }

  // MARK: Asking

  /// `nil`: the call was refused.
  func admit(
    _ call: any IncomingContext, to method: ServedMethods.Number?, _ context: ShardContext
  ) -> CallerGrants? {
    switch identify(call) {
    case .refused(let refusal):
      refuse(call, refusal, nil, method, context)
      return nil
    case .caller(let grants) where !grants.include(method):
      refuse(call, .methodNotGranted, grants.caller, method, context)
      return nil
    case .caller(let grants):
      call.admitted()
      return grants
    }
  }

  /// False: the call was refused.
  func admit(
    _ call: any IncomingContext, of grants: CallerGrants, to method: ServedMethods.Number?,
    about request: some ApplicationRequest, _ context: ShardContext
  ) -> Bool {
    if grants.include(application: request.applicationID) { return true }
    refuse(call, .applicationNotGranted, grants.caller, method, context)
    return false
  }

  /// Of a call that goes on for long. False: the call was refused. Throws where the caller goes by another name now: it has
  /// another's grants, and its streams count as another's, so it is to call again.
  func stillAdmits(
    _ exchange: some CallExchange, about request: some ApplicationRequest
  ) throws(RequestError) -> Bool {
    let (call, context) = (exchange.incoming, exchange.context)
    let method = ServedMethods.number(of: call.path)
    guard let grants = admit(call, to: method, context) else { return false }
    guard Identifier.areEqual(grants.caller.identity, exchange.caller.identity) else { throw .callerChanged }
    return admit(call, of: grants, to: method, about: request, context)
  }

  private func identify(_ call: any IncomingContext) -> Authorization.Identification {
    let authorization = authorization.withLock { $0 }
    let standing = standing(of: call, by: authorization)
    guard authorization.takesKeys, let text = call.metadata("authorization") else {
      return authorization.identify(standing, .none)
    }
    return authorization.identify(standing, Authorization.ShownKey(authorization: text))
  }

  /// Found out once for a connection, as long as the callers are the same ones.
  private func standing(of call: any IncomingContext, by authorization: Authorization) -> Authorization.PeerStanding {
    if let known = call.connectionNote as? KnownPeer, known.authorization === authorization { return known.standing }
    let standing = authorization.standing(of: call.peer)
    call.connectionNote = KnownPeer(authorization: authorization, standing: standing)
    return standing
  }

  // MARK: Refusing

  /// Answered before the event is durable, and also where it cannot be written: a refusal has no effect that could be
  /// lost, an attacker must not keep calls waiting for the disk, and a store that is down refuses nobody's credentials
  /// less.
  private func refuse(
    _ call: any IncomingContext, _ refusal: AccessRefusal, _ caller: Caller?, _ method: ServedMethods.Number?,
    _ context: ShardContext
  ) {
    call.fail(refusal.rpcError)
    let (shard, path): (any CallShard, String) = (call.shard, call.path)
    record(refusal, caller, by: call.peer, method) { error in
      shard.execute { context.log(error, rpc: path) }
    }
  }

  private func record(
    _ refusal: AccessRefusal, _ caller: Caller?, by peer: RPCPeer, _ method: ServedMethods.Number?,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    let key = RefusalThrottle.Key(caller: caller, refusal: refusal)
    guard let suppressed = throttle.withLock({ $0.admit(key, at: .now()) }) else { return }
    let event = EventDraft.refusedCall(refusal, caller, by: peer, method: method, suppressed: suppressed, time: clock())
    store.commit(ChangeSet(events: [event])) { result in
      if case .failure(let error) = result { onFailure(error) }
    }
  }

  // MARK: Handshakes

  /// - Parameter reason: nothing of the client's own text.
  func handshakeFailed(from client: SocketAddress, reason: String, asksForCertificate: Bool) {
    log(.failed, reason)
    guard asksForCertificate else { return }
    let peer = RPCPeer(address: client, isEncrypted: true)
    record(.certificateRefused, nil, by: peer, nil) { [self] error in
      log(.notRecorded, error.message)
    }
  }

  private func log(_ line: HandshakeLine, _ reason: String) {
    guard let suppressed = handshakeFailures.withLock({ $0.admit(line, at: .now()) }) else { return }
    logger.notice(line.message, metadata: ["reason": "\(reason)", "suppressed": "\(suppressed)"])
  }
}

private enum HandshakeLine {
  case failed
  case notRecorded

  var message: Logger.Message {
    switch self {
    case .failed: "a TLS handshake failed"
    case .notRecorded: "a refused TLS handshake is not in the audit log"
    }
  }
}

extension RequestError {
  fileprivate static let callerChanged = RequestError(
    code: .unavailable, message: "the caller's name was changed; call again")
}

/// What is known of a connection's peer.
private final class KnownPeer: Sendable {
  let authorization: Authorization
  let standing: Authorization.PeerStanding

  init(authorization: Authorization, standing: Authorization.PeerStanding) {
    self.authorization = authorization
    self.standing = standing
  }
}

extension Authorization.ShownKey {
  /// RFC 6750, section 2.1; the scheme's name in any case (RFC 9110, section 11.1).
  private static let scheme = "bearer "

  /// - Parameter authorization: the metadata of that name.
  init(authorization text: String) {
    var text = text
    let digest = text.withUTF8 { text in
      let (scheme, key) = (text.prefix(Self.scheme.utf8.count), text.dropFirst(Self.scheme.utf8.count))
      let isBearer = scheme.lazy.map { $0 | 0x20 }.elementsEqual(Self.scheme.utf8)
      return isBearer ? CallerKeyDigest(ofKey: UnsafeBufferPointer(rebasing: key)) : nil
    }
    self = digest.map { .digest($0) } ?? .malformed
  }
}
