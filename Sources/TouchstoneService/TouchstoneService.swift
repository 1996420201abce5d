// The service: gRPC in, rules asked, changes committed, answers out. Only here do codec, policy and store meet.

public import DispatchRPC
public import Logging
internal import Synchronization
internal import TouchstoneCodec
public import TouchstoneCrypto
public import TouchstonePolicy
public import TouchstoneStore

/// Everything that a handler needs, wired once.
///
/// Register it with a server of `shardCount` shards: `router` routes its methods, `wakeUpEnded` runs at the end of each
/// shard's wake-up. In the same process, `methods` does without a server.
public final class TouchstoneService: Sendable {
  let store: any Store
  let configuration: ServiceConfiguration
  let pepper: Pepper
  let standIns: StandIns
  let clock: ServiceEnvironment.Clock
  let randomness: Randomness
  let secretChecks: SecretChecks
  let access: AccessControl
  let health: Health
  let watches: EventWatches
  let eventLists: EventLists
  /// `nil`: switched off.
  let reflection: Reflection?
  private let book: Mutex<PolicyBook>
  private let currentVendors: Mutex<Vendors>
  private let currentKeys: Mutex<ServiceKeys>
  private let contexts: [ShardContext]

  /// - Parameter shardCount: as many as the RPC server has.
  public init(
    configuration: ServiceConfiguration, store: any Store, keys: KeyRing, shardCount: Int, logger: Logger,
    environment: ServiceEnvironment
  ) {
    self.store = store
    self.configuration = configuration
    self.book = Mutex(PolicyBook(configuration.policies))
    self.currentVendors = Mutex(configuration.vendors ?? Vendors())
    self.currentKeys = Mutex(
      ServiceKeys(
        keys, issuer: configuration.issuer, randomness: environment.randomness, lineage: store.lineage))
    self.pepper = keys.pepper
    self.standIns = StandIns(pepper: keys.pepper)
    self.clock = environment.clock
    self.randomness = environment.randomness
    self.secretChecks = SecretChecks(
      hasher: environment.hasher
        ?? PasswordHasher(
          pepper: keys.pepper, parameters: configuration.secretHashing, randomness: environment.randomness),
      executor: environment.secrets, timer: environment.timer)
    self.access = AccessControl(
      configuration.callers, store: store, clock: environment.clock, logger: logger)
    let workers = VerificationWorkers(cores: environment.verificationThreads)
    let health = Health(store: store, timer: environment.timer, logger: logger)
    self.health = health
    self.watches = EventWatches(store: store, timer: environment.timer)
    self.eventLists = EventLists(store: store)
    self.reflection = configuration.servesReflection ? Reflection(services: Self.servedServices) : nil
    self.contexts = (0..<shardCount).map { _ in ShardContext(workers: workers, logger: logger, health: health) }
  }

  /// Verifies the signatures that one wake-up brought.
  public func wakeUpEnded(on shard: some CallShard) {
    contexts[shard.index].verifications.flush(on: shard)
  }

  /// Of what is handed out now: an evaluation, a ticket, a token.
  func newKey(expiresAt: UnixTime) -> ExpiringKey {
    ExpiringKey(expiresAt: expiresAt, random: randomness.uniqueID(), in: store.lineage)
  }

  // MARK: Policies

  /// As they are now. A call that asks twice may see two.
  var policies: PolicyBook { book.withLock { $0 } }

  /// From now on these and no others: calls that begin later see all of them. An evaluation that was begun under
  /// another revision of its policy answers INVALID_CONTEXT (R36).
  public func replacePolicies(_ policies: [EvaluationPolicy]) {
    let replacement = PolicyBook(policies)
    book.withLock { $0 = replacement }
  }

  // MARK: Vendors

  /// As it is now. A call that asks twice may see two.
  func vendor(of applicationID: String) -> Vendor {
    // Where nobody tells them apart, no call takes the lock.
    guard configuration.vendors != nil else { return .everybody }
    return currentVendors.withLock { $0 }.vendor(of: applicationID)
  }

  /// From now on these and no others.
  ///
  /// - Precondition: the service was started with some.
  public func replaceVendors(_ vendors: Vendors) {
    precondition(configuration.vendors != nil, "all applications are one vendor's for as long as the service runs")
    currentVendors.withLock { $0 = vendors }
  }

  // MARK: Keys

  /// As they are now. A call that asks twice may see two.
  var keys: ServiceKeys { currentKeys.withLock { $0 } }

  /// From now on these sealing and signing keys and no others: what was made with one that is gone is void.
  ///
  /// - Precondition: the pepper is the same, for what rests on it does not change.
  public func replaceKeys(_ keys: KeyRing) {
    precondition(Pepper.areEqual(keys.pepper.check, pepper.check), "a running service keeps its pepper")
    let replacement = ServiceKeys(
      keys, issuer: configuration.issuer, randomness: randomness, lineage: store.lineage)
    currentKeys.withLock { $0 = replacement }
  }

  // MARK: Callers

  /// From now on these and no others; `nil`: whoever is on this machine. A caller who is not among them any more is refused
  /// from the next call on.
  public func replaceCallers(_ callers: [CallerDefinition]?) {
    access.replace(callers)
    watches.callersChanged()
  }

  /// For the server: TLS did not let a client in. It is logged, and where clients are asked for certificates it is a refused
  /// call, though none was made: both now and then, however often it happens.
  public func handshakeFailed(from client: SocketAddress, reason: String, asksForCertificate: Bool) {
    access.handshakeFailed(from: client, reason: reason, asksForCertificate: asksForCertificate)
  }

  // MARK: Methods

  /// Every method that is served.
  public var methods: MethodTable {
    var methods = MethodTable()
    registerEvaluation(&methods)
    registerBindings(&methods)
    registerTokens(&methods)
    registerAdministration(&methods)
    registerSecrets(&methods)
    registerHealth(&methods)
    registerReflection(&methods)
    return methods
  }

  public var router: RPCRouter { methods.router }

  /// Asks who calls and whether they may, decodes the request, asks whether they may for its application, hands it to
  /// `handler` on its shard, and refuses the call where that throws.
  func register<Request: WireMessage & ApplicationRequest, Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    let method = ServedMethods.number(of: path)
    methods.add(path) { [access, contexts] call, bytes in
      let context = contexts[call.shard.index]
      guard let grants = access.admit(call, to: method, context) else { return }
      let exchange = Exchange<Response>(call: call, context: context, caller: grants.caller)
      do throws(RequestError) {
        let request: Request = try Self.decode(bytes, with: context.coder)
        guard access.admit(call, of: grants, to: method, about: request, context) else { return }
        try handler(request, exchange)
      } catch {
        exchange.refuse(error)
      }
    }
  }

  /// As `register`, of what is about no application.
  func registerForAll<Request: WireMessage, Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    let method = ServedMethods.number(of: path)
    methods.add(path) { [access, contexts] call, bytes in
      let context = contexts[call.shard.index]
      guard let grants = access.admit(call, to: method, context) else { return }
      let exchange = Exchange<Response>(call: call, context: context, caller: grants.caller)
      do throws(RequestError) {
        try handler(Self.decode(bytes, with: context.coder), exchange)
      } catch {
        exchange.refuse(error)
      }
    }
  }

  func context(of call: some IncomingContext) -> ShardContext {
    contexts[call.shard.index]
  }

  static func decode<Request: WireMessage>(
    _ bytes: UnsafeRawBufferPointer, with coder: MessageCoder
  ) throws(RequestError) -> Request {
    do throws(DecodingError) {
      return try coder.decode(Request.self, from: bytes)
    } catch {
      throw RequestError(error)
    }
  }
}

extension Randomness {
  func uniqueID() -> UniqueID {
    guard let id = UniqueID(bytes: bytes(16)) else { preconditionFailure("16 bytes make an id") }
    return id
  }
}
