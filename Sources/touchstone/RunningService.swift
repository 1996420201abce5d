// The whole service, wired and running in this process. `serve` and `demo` both start it here.

internal import DispatchRPC
internal import Glibc
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore

/// The store, the keys, the handlers and the RPC server of one process.
final class RunningService: Sendable {
  /// In the order of the configuration.
  let addresses: [SocketAddress]
  private let listeners: [Listener]
  private let tls: RPCServerTLS?
  private let tlsSettings: TLSSettings?
  private let service: TouchstoneService
  private let server: RPCServer
  private let store: any Store
  private let pepperCheck: [UInt8]
  private let auditKeyring: AuditKeyring
  private let sweeping: Sweeping
  private let archiving: Archiving?
  private let logVerifying: LogVerifying
  private let clockWatching: ClockWatching?
  private let logger: Logger

  /// Opens the store before the keys: in a data directory it takes the lock, and where it refuses, nothing was changed.
  static func start(
    _ configuration: ProcessConfiguration, logger: Logger,
    clock: @escaping ServiceEnvironment.Clock = systemTime
  ) throws(Failure) -> RunningService {
    let listeners = try Listener.all(of: configuration)
    for listener in listeners {
      try listener.require(
        callers: configuration.service.callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    let tls = try configuration.loadTLS()
    raiseDescriptorLimit()
    let store = try configuration.openStore(logger: logger)
    do throws(Failure) {
      return try start(configuration, on: store, listeners, tls, logger: logger, clock: clock)
    } catch {
      // The process ends next, and SQLite removes its write-ahead log only if the database is closed before that.
      let _: Void? = try? answer { done in store.close { done(.success(())) } }
      throw error
    }
  }

  private static func start(
    _ configuration: ProcessConfiguration, on store: any Store, _ listeners: [Listener], _ tls: RPCServerTLS?,
    logger: Logger, clock: @escaping ServiceEnvironment.Clock
  ) throws(Failure) -> RunningService {
    let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let shards = configuration.shards == 0 ? cores : configuration.shards
    let keys = try configuration.keySource.load(for: store, mayCreate: configuration.mayMakeKeys)
    logger.notice("keys loaded", metadata: ["keys": "\(keys.summary)", "from": "\(configuration.keySource.name)"])
    if keys.audit == nil {
      logger.warning(
        """
        there is no audit key, so erased and archived events are accounted for without a signature: add one where the keys \
        are (`touchstone keys rotate DIRECTORY audit --after 1h`, then SIGHUP), once no earlier version runs any more
        """)
    }
    let auditKeyring = AuditKeyring(keys.audit)
    try answer { store.signAccounts(with: auditKeyring.accountKeys, completion: $0) }
    let service = TouchstoneService(
      configuration: configuration.service, store: store, keys: keys, shardCount: shards, logger: logger,
      environment: ServiceEnvironment(cores: cores, clock: clock))
    var serverConfiguration = RPCServerConfiguration()
    serverConfiguration.shards = shards
    // What the codec would refuse is not worth receiving.
    serverConfiguration.maxRequestMessageBytes = DecodingLimits.default.maximumBytes
    serverConfiguration.handlersAdmitCalls = true
    serverConfiguration.overloadError = TouchstoneService.overloadError
    serverConfiguration.shedding?.handlerTarget = handlerTarget
    configuration.limits.apply(to: &serverConfiguration)
    let asksForCertificates = configuration.tls?.clientAuthorities != nil
    serverConfiguration.onHandshakeFailure = { client, reason in
      service.handshakeFailed(from: client, reason: reason, asksForCertificate: asksForCertificates)
    }
    let server = RPCServer(configuration: serverConfiguration, router: service.router) { service.wakeUpEnded(on: $0) }
    let archiving = try configuration.retention.map { settings throws(Failure) in
      try Archiving(store: store, settings: settings, logger: logger)
    }
    // Before anybody is told that it serves.
    let sweeping = try Sweeping(
      store: store, logger: logger,
      observer: Sweeping.Observer(
        storeFailed: { service.storeFailed() }, clockChecked: { service.clockChecked(isUsable: $0) }))
    let addresses = try listen(on: listeners, server, tls)
    return RunningService(
      addresses: addresses, listeners: listeners, tls: tls, tlsSettings: configuration.tls, service: service,
      server: server, store: store, auditKeyring: auditKeyring, sweeping: sweeping, archiving: archiving,
      pepperCheck: keys.pepper.check, logger: logger)
  }

  /// Of a call: many times what the store takes for a commit, so that only a queue takes longer.
  private static let handlerTarget = Duration.milliseconds(100)

  private static func listen(
    on listeners: [Listener], _ server: RPCServer, _ tls: RPCServerTLS?
  ) throws(Failure) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    for listener in listeners {
      do throws(RPCServerError) {
        addresses.append(try server.listen(on: listener, tls))
      } catch {
        throw Failure(status: .unavailable, message: "cannot listen on \(listener.text): \(error.reason)")
      }
    }
    return addresses
  }

  private init(
    addresses: [SocketAddress], listeners: [Listener], tls: RPCServerTLS?, tlsSettings: TLSSettings?,
    service: TouchstoneService, server: RPCServer, store: any Store, auditKeyring: AuditKeyring, sweeping: Sweeping,
    archiving: Archiving?, pepperCheck: [UInt8], logger: Logger
  ) {
    self.addresses = addresses
    self.listeners = listeners
    self.tls = tls
    self.tlsSettings = tlsSettings
    self.service = service
    self.server = server
    self.store = store
    self.logger = logger
    self.pepperCheck = pepperCheck
    self.archiving = archiving
    self.sweeping = sweeping
    self.auditKeyring = auditKeyring
    self.logVerifying = LogVerifying(store: store, auditKeyring: auditKeyring, logger: logger)
    self.clockWatching = ClockWatching(store: store, logger: logger)
  }

  /// From now on these policies and callers, and no others. An evaluation begun under another revision of its policy is
  /// void (R36). What is sealed for a caller opens for no other: what was begun by one who is gone is void (R34). The certificates
  /// are read again from the same files, and the keys: what was made with a key that is gone is void. All of it or, where
  /// anything is wrong, nothing.
  ///
  /// Answers which keys there are.
  func reload(_ configuration: ProcessConfiguration) throws(Failure) -> String {
    let callers = configuration.service.callers
    for listener in listeners {
      try listener.require(callers: callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    let keys = try configuration.keySource.load()
    guard Pepper.areEqual(keys.pepper.check, pepperCheck) else {
      throw Failure(
        status: .unusableKeys,
        message: "\(configuration.keySource.name): the pepper is another one than this service runs with")
    }
    do throws(RPCTLSError) {
      try tlsSettings?.requireProtection()
      try tls?.reload()
    } catch {
      throw Failure(error)
    }
    service.replaceKeys(keys)
    auditKeyring.replace(keys.audit)
    // A first audit key may have come.
    store.signAccounts(with: auditKeyring.accountKeys) { [logger] result in
      guard case .failure(let error) = result else { return }
      logger.error("the audit log does not say that it is signed", metadata: ["error": "\(error.message)"])
    }
    service.replacePolicies(configuration.service.policies)
    service.replaceCallers(callers)
    if let vendors = configuration.service.vendors { service.replaceVendors(vendors) }
    return keys.summary
  }

  /// Refuses new calls, lets the running ones finish, then closes the store.
  func stop(grace: Duration, completion: @escaping @Sendable () -> Void) {
    sweeping.cancel()
    logVerifying.cancel()
    clockWatching?.cancel()
    archiving?.cancel()
    // Before its clients are asked to leave, so that no new ones are sent here.
    service.beginDraining()
    let close: @Sendable () -> Void = { [store, logger] in
      store.close {
        store.logWhatWasWritten(logger)
        completion()
      }
    }
    server.shutDown(grace: grace) { [archiving] in
      guard let archiving else { return close() }
      archiving.whenIdle(close)
    }
  }
}

extension RPCServer {
  fileprivate func listen(on listener: Listener, _ tls: RPCServerTLS?) throws(RPCServerError) -> SocketAddress {
    switch listener.endpoint {
    case .unix(let path):
      try listen(unixPath: path)
    case .tcp(_, let port):
      // By number: a name may stand for something else by now.
      try listen(host: listener.address.host, port: port, tls: listener.isEncrypted ? tls : nil)
    }
  }
}

extension RunningService {
  /// Every connection is a descriptor, and shells commonly allow 1,024 of them where the system allows many more.
  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
