// Identifies the caller of each call and checks its grants. A peer's identity is kept with its connection, and a
// refused call becomes an event.

internal import DispatchRPC
internal import Logging
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

final class AccessControl: Sendable {
  private let store: any Store
  private let clock: ServiceEnvironment.Clock
  private let authorization: Mutex<Authorization>
  private let logger: Logger
  private let meters: ServiceMeters
  private let throttle = Mutex(RefusalThrottle())
  private let handshakeFailures = Mutex(LogThrottle<HandshakeLine>())

  init(
    _ callers: [CallerDefinition]?, store: any Store, environment: ServiceEnvironment, meters: ServiceMeters,
    logger: Logger
  ) {
    authorization = Mutex(Authorization(callers))
    self.store = store
    clock = environment.clock
    self.meters = meters
    self.logger = logger
  }

  /// Takes effect for calls that begin later. A removed caller is unknown from then on, and what was sealed for it
  /// opens for no other caller (R34).
  func replace(_ callers: [CallerDefinition]?) {
    let replacement = Authorization(callers)
    authorization.withLock { $0 = replacement }
  }

  // MARK: Admission

  /// `nil`: the call was refused.
  func admit(
    _ call: any IncomingContext, to method: MethodDescriptor.Number?, _ context: LoopContext
  ) -> CallerGrants? {
    switch identify(call) {
    case .refused(let refusal):
      refuse(call, refusal, nil, method, context)
      return nil
    case .caller(let grants) where !grants.include(method):
      refuse(call, .methodNotGranted, grants.caller, method, context)
      return nil
    case .caller(let grants):
      call.admitted(of: grants.caller.identity)
      return grants
    }
  }

  /// False: the call was refused.
  func admit(
    _ call: any IncomingContext, of grants: CallerGrants, to method: MethodDescriptor.Number?,
    about applicationID: String, _ context: LoopContext
  ) -> Bool {
    if grants.include(application: applicationID) { return true }
    refuse(call, .applicationNotGranted, grants.caller, method, context)
    return false
  }

  /// Whether a call of an open method comes from a caller of the configuration. Nothing is refused, but a key that is
  /// wrong becomes an event as elsewhere: otherwise a thief of keys could try them here unseen.
  func knows(_ call: any IncomingContext) -> Bool {
    switch identify(call) {
    case .caller: return true
    case .refused(let refusal):
      guard call.metadata("authorization") != nil else { return false }
      record(refusal, nil, by: call.peer, MethodDescriptor.number(of: call.path), orLog: .line(.openCallNotRecorded))
      return false
    }
  }

  /// Checks a long call again. False: the call was refused. Throws if the caller has another name now: the new name has
  /// other grants, and its streams are counted apart, so the caller must call again.
  func stillAdmits(
    _ exchange: some CallExchange, about applicationID: String
  ) throws(RequestError) -> Bool {
    let (call, context) = (exchange.incoming, exchange.context)
    let method = MethodDescriptor.number(of: call.path)
    guard let grants = admit(call, to: method, context) else { return false }
    guard Identifier.areEqual(grants.caller.identity, exchange.caller.identity) else { throw .callerChanged }
    return admit(call, of: grants, to: method, about: applicationID, context)
  }

  private func identify(_ call: any IncomingContext) -> Authorization.Identification {
    if let known = call.identifiedCaller { return .caller(known.grants) }
    let authorization = authorization.withLock { $0 }
    let standing = standing(of: call, by: authorization)
    guard authorization.takesKeys, let text = call.metadata("authorization") else {
      return authorization.identify(standing, .none)
    }
    return authorization.identify(standing, Authorization.ShownKey(authorization: text))
  }

  /// Determined once for each connection, until the callers are replaced.
  private func standing(of call: any IncomingContext, by authorization: Authorization) -> Authorization.PeerStanding {
    if let known = call.connectionNote as? KnownPeer, known.authorization === authorization { return known.standing }
    let standing = authorization.standing(of: call.peer, isKnownByPlace: call.isKnownByPlace)
    call.connectionNote = KnownPeer(authorization: authorization, standing: standing)
    return standing
  }

  // MARK: Refusals

  /// Answers before the event is durable, and also if the event cannot be written: a refusal has no effect that could
  /// be lost, an attacker must not keep calls waiting for the disk, and wrong credentials are refused even without a
  /// store.
  private func refuse(
    _ call: any IncomingContext, _ refusal: AccessRefusal, _ caller: Caller?, _ method: MethodDescriptor.Number?,
    _ context: LoopContext
  ) {
    call.fail(refusal.rpcError)
    record(refusal, caller, by: call.peer, method, orLog: .failureOfCall(call.path, call.loop, context))
  }

  /// How the log tells that a refusal is not in the audit log.
  private enum LogEntry {
    case line(HandshakeLine)
    case failureOfCall(String, any CallLoop, LoopContext)
  }

  private func record(
    _ refusal: AccessRefusal, _ caller: Caller?, by peer: RPCPeer, _ method: MethodDescriptor.Number?,
    claimedOperator: String? = nil, orLog entry: LogEntry
  ) {
    meters.callerRefusals.count(refusal)
    // Guesses at one operator must not hide those at another. A name that an identity provider gives is not the
    // configuration's: people without a role cannot make up keys by their names.
    let named = refusal == .operatorRoleMissing ? nil : claimedOperator.map(Caller.init(operator:))
    let key = RefusalThrottle.Key(caller: named ?? caller, refusal: refusal)
    guard let suppressed = throttle.withLock({ $0.admit(key, at: .now()) }) else { return }
    let event = EventDraft.refusedCall(
      refusal, caller, by: peer, method: method, claimedOperator: claimedOperator, suppressed: suppressed, time: clock()
    )
    logger.logRefusal(event)
    store.commit(ChangeSet(events: [event])) { [self] result in
      guard case .failure(let error) = result else { return }
      switch entry {
      case .line(let line): log(line, error.message)
      case .failureOfCall(let path, let loop, let context): loop.execute { context.log(error, rpc: path) }
      }
    }
  }

  // MARK: Operators

  /// - Parameters:
  ///   - caller: whose session it was; `nil`: the client proved nothing.
  ///   - claimedOperator: an operator of the configuration, whose name the client gave.
  func refuseOperator(_ refusal: AccessRefusal, _ caller: Caller?, claimedOperator: String?, by peer: RPCPeer) {
    record(refusal, caller, by: peer, nil, claimedOperator: claimedOperator, orLog: .line(.operatorNotRecorded))
  }

  // MARK: Handshakes

  /// Only a certificate that was refused, or is missing, says who wants to call. A probe that closes, plaintext or a
  /// client that does not trust the service is a line in the log and a count.
  func handshakeFailed(from client: SocketAddress, _ failure: RPCHandshakeFailure) {
    log(.failed, failure.reason)
    let refusal: AccessRefusal
    switch failure.cause {
    case .certificateRefused: refusal = .certificateRefused
    case .certificateMissing: refusal = .credentialsMissing
    case .other: return
    }
    let peer = RPCPeer(address: client, isEncrypted: true)
    record(refusal, nil, by: peer, nil, orLog: .line(.notRecorded))
  }

  private func log(_ line: HandshakeLine, _ reason: String) {
    guard let suppressed = handshakeFailures.withLock({ $0.admit(line, at: .now()) }) else { return }
    logger.notice(line.message, metadata: ["reason": "\(reason)", "suppressed": "\(suppressed)"])
  }
}

private enum HandshakeLine {
  case failed
  case notRecorded
  case operatorNotRecorded
  case openCallNotRecorded

  var message: Logger.Message {
    switch self {
    case .failed: "a TLS handshake failed"
    case .notRecorded: "a refused TLS handshake is not in the audit log"
    case .operatorNotRecorded: "a refused operator is not in the audit log"
    case .openCallNotRecorded: "a wrong key is not in the audit log"
    }
  }
}

extension RequestError {
  fileprivate static let callerChanged = RequestError(
    code: .unavailable, message: "the caller's name was changed; call again")
}

/// The identity of a connection's peer.
private final class KnownPeer: Sendable {
  let authorization: Authorization
  let standing: Authorization.PeerStanding

  init(authorization: Authorization, standing: Authorization.PeerStanding) {
    self.authorization = authorization
    self.standing = standing
  }
}

extension Authorization.ShownKey {
  /// RFC 6750, section 2.1; the scheme's name in any case (RFC 9110, section 11.1), and spaces, but no tab, after it
  /// (11.4).
  private static let scheme = "bearer "

  /// - Parameter authorization: the metadata `authorization`.
  init(authorization text: String) {
    var text = text
    let digest = text.withUTF8 { text in
      let (scheme, key) = (
        text.prefix(Self.scheme.utf8.count), text.dropFirst(Self.scheme.utf8.count).drop { $0 == 0x20 }
      )
      let isBearer = scheme.lazy.map { $0 | 0x20 }.elementsEqual(Self.scheme.utf8)
      return isBearer ? CallerKeyDigest(ofKey: UnsafeBufferPointer(rebasing: key)) : nil
    }
    self = digest.map { .digest($0) } ?? .malformed
  }
}
