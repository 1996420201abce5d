// The whole service, running in this process: the store, the keys, the handlers, the listeners, the upkeep.

internal import DispatchHTTP
package import DispatchRPC
internal import Glibc
package import Logging
internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneMetrics
internal import TouchstonePolicy
package import TouchstoneService
internal import TouchstoneStore

/// The store, the keys, the handlers and the RPC server of one process.
package final class RunningService: Sendable {
  /// In the order of the configuration.
  package let addresses: [SocketAddress]
  /// The HTTP server's URLs, in the same order.
  package var urls: [String] { http?.urls ?? [] }
  /// The text of all metrics, for Prometheus (docs/METRICS.md). It waits for nothing, and may be read on any thread.
  package let metrics: @Sendable () -> String
  let meters: ServerMeters
  private let listeners: [Listener]
  private let tls: RPCServerTLS?
  private let tlsSettings: TLSSettings?
  private let service: TouchstoneService
  private let server: RPCServer
  private let http: HTTPService?
  private let console: Console
  let store: OpenStore
  /// The files of the configuration, from before they were read.
  let files: FileSnapshot
  private let pepperCheck: [UInt8]
  private let auditKeyring: AuditKeyring
  private let accountSigning: AccountSigning
  private let sweeping: Sweeping
  private let archiving: Archiving?
  private let logVerifying: LogVerifying
  private let clockWatching: ClockWatching?
  private let trustWatching: TrustWatching
  /// `nil`: no call is traced.
  private let tracing: Tracing?
  /// `nil`: the log is another one's (tests).
  let log: LogOutput?
  let logger: Logger

  package static var machineCores: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Opens the store before the keys. In a data directory it takes the lock; if it refuses, it has changed nothing.
  ///
  /// - Parameters:
  ///   - cores: that the process may use.
  ///   - version: for the log, metrics, traces, health and the console.
  ///   - log: the logger's, if it follows the configuration.
  package static func start(
    _ configuration: ProcessConfiguration, logger: Logger, log: LogOutput? = nil, cores: Int = machineCores,
    version: String = "unknown",
    clock: @escaping ServiceEnvironment.Clock = systemTime
  ) throws(Failure) -> RunningService {
    let listeners = try Listener.all(of: configuration)
    for listener in listeners {
      try listener.require(
        callers: configuration.service.callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    let httpListeners = try HTTPListener.all(of: configuration)
    let files = configuration.files(configuration.tls)
    let tls = try configuration.loadTLS()
    let tracing = try Tracing(configuration, version: version, logger: logger)
    var configuration = configuration
    configuration.service.attestationTrust = try configuration.loadAttestationTrust(at: clock())
    configuration.logWarnings(logger)
    let descriptors = DescriptorLimit.raised()
    let meters = ServerMeters(
      registry: MetricRegistry { family in
        logger.warning(
          "a series of a metric was not made, because its family is full or unknown: report it as a mistake in the service",
          metadata: ["family": "\(family)"])
      })
    let store = try configuration.storeLocation.open(observer: meters.storeObserver, logger: logger)
    do throws(Failure) {
      let service = try start(
        configuration, files, on: store, listeners, httpListeners, tls, descriptors, meters, tracing,
        logger: logger, log: log, cores: cores, version: version, clock: clock)
      meters.registry.observeProcess(version: version)
      return service
    } catch {
      // The process ends next, and SQLite removes its write-ahead log only if the database is closed before that.
      let _: Void? = try? answer { done in store.store.close { done(.success(())) } }
      throw error
    }
  }

  private static func start(
    _ configuration: ProcessConfiguration, _ files: FileSnapshot, on opened: OpenStore,
    _ listeners: [Listener], _ httpListeners: [HTTPListener], _ tls: RPCServerTLS?, _ descriptors: DescriptorLimit?,
    _ meters: ServerMeters, _ tracing: Tracing?, logger: Logger, log: LogOutput?, cores: Int, version: String,
    clock: @escaping ServiceEnvironment.Clock
  ) throws(Failure) -> RunningService {
    let store = opened.store
    let eventLoops = configuration.shards == 0 ? cores : configuration.shards
    let keys = try configuration.keySource.load(for: store, mayCreate: configuration.mayMakeKeys)
    // A start that fails before prints its failure alone.
    logger.notice("starting", metadata: ["version": "\(version)"])
    logger.notice("keys loaded", metadata: ["keys": "\(keys.summary)", "from": "\(configuration.keySource.name)"])
    if keys.audit == nil {
      logger.warning(
        """
        there is no audit key, so erased and archived events are accounted for without a signature: add one where the keys \
        are (`touchstone keys rotate DIRECTORY audit --after 1h`)
        """)
    }
    let auditKeyring = AuditKeyring(keys.audit)
    let accountSigning = try AccountSigning(store: store, keyring: auditKeyring, logger: logger)
    var environment = ServiceEnvironment(cores: cores, clock: clock)
    environment.metrics = meters.registry
    environment.tracer = tracing?.tracer
    environment.decisions = log
    environment.version = version
    logger.notice("signatures are verified", metadata: ["by": "\(environment.signatures.name)"])
    let service = TouchstoneService(
      configuration: configuration.service, store: store, keys: keys, eventLoopCount: eventLoops + 1, logger: logger,
      environment: environment)
    // The last event loop is the console's.
    let console = Console(
      configuration.consoleSettings, service: service, eventLoop: eventLoops, ids: SessionIDs(pepper: keys.pepper),
      browsers: BrowserProofs(pepper: keys.pepper), url: configuration.consoleURL,
      secrets: SecretWorkers(threads: 1, niceness: SecretWorkers.operators), clock: clock,
      health: ConsoleHealthReading(
        service: service, store: opened, place: configuration.storeLocation.description, meters: meters, tls: tls,
        version: version
      ).read)
    var serverConfiguration = RPCServerConfiguration()
    serverConfiguration.eventLoops = eventLoops
    // The codec would refuse larger messages.
    serverConfiguration.maxRequestMessageBytes = DecodingLimits.default.maximumBytes
    serverConfiguration.handlersAdmitCalls = true
    serverConfiguration.overloadError = TouchstoneService.overloadError
    serverConfiguration.shedding?.handlerTarget = handlerTarget
    configuration.limits.apply(to: &serverConfiguration)
    let descriptorLog = DescriptorLog(logger)
    var httpConfiguration = HTTPServerConfiguration()
    httpConfiguration.onOutOfDescriptors = { descriptorLog.ranOut() }
    httpConfiguration.onHandshakeFailure = { client, failure in
      service.handshakeFailed(from: client, failure)
    }
    if let descriptors {
      let connections = descriptors.httpConnections(wanted: httpConfiguration.limits.connections)
      httpConfiguration.limits.connections = connections
      descriptors.bound(&serverConfiguration, beside: httpListeners.count * connections, logger: logger)
    }
    serverConfiguration.onOutOfDescriptors = { descriptorLog.ranOut() }
    serverConfiguration.onHandshakeFailure = { client, failure in service.handshakeFailed(from: client, failure) }
    let router = service.router
    let running = (0..<eventLoops).map { _ in RunningCallCount() }
    meters.registry.observe(running)
    serverConfiguration.observer = { eventLoop in
      CallMeters(meters.registry, paths: router.paths, running: running[eventLoop])
    }
    let server = RPCServer(configuration: serverConfiguration, router: router) { service.roundEnded(on: $0) }
    let archiving = try configuration.retention.map { settings throws(Failure) in
      try Archiving(store: store, settings: settings, logger: logger, observer: meters.archiving)
    }
    // Before the service is SERVING.
    let sweeping = try Sweeping(
      store: store, logger: logger,
      observer: Sweeping.Observer(
        begins: {
          accountSigning.look()
          store.eventChainHead { meters.noteHead($0) }
        },
        storeFailed: { service.storeFailed() }, clockChecked: { service.clockChecked(isUsable: $0) },
        ended: { meters.noteSweep(isDone: $0) }))
    // Its addresses are taken before callers are served, and its clients served after: an address in use leaves nothing
    // half-started.
    let http = try HTTPService(
      on: httpListeners, tls: tls,
      routes: HTTPRoutes(
        service: service, issuer: configuration.service.issuer, metrics: RenderedMetrics(meters.registry.text),
        console: console),
      configuration: httpConfiguration)
    let addresses = try listen(on: listeners, server, tls)
    try http?.begin()
    return RunningService(
      addresses: addresses, listeners: listeners, files: files, tls: tls, tlsSettings: configuration.tls,
      service: service,
      server: server, http: http, console: console, store: opened, auditKeyring: auditKeyring,
      accountSigning: accountSigning, sweeping: sweeping,
      archiving: archiving,
      trustWatching: TrustWatching(configuration.service.attestationTrust, store: store, clock: clock, logger: logger),
      pepperCheck: keys.pepper.check, meters: meters, tracing: tracing, log: log, logger: logger)
  }

  /// The target for a call's time: many times a commit's, so that only calls in a queue take longer.
  private static let handlerTarget = Duration.milliseconds(100)

  private static func listen(
    on listeners: [Listener], _ server: RPCServer, _ tls: RPCServerTLS?
  ) throws(Failure) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    for listener in listeners {
      do throws(RPCServerError) {
        addresses.append(try server.listen(on: listener, tls))
      } catch {
        throw Failure(kind: .unavailable, message: "cannot listen on \(listener.text): \(error.reason)")
      }
    }
    return addresses
  }

  private init(
    addresses: [SocketAddress], listeners: [Listener], files: FileSnapshot, tls: RPCServerTLS?,
    tlsSettings: TLSSettings?,
    service: TouchstoneService, server: RPCServer, http: HTTPService?, console: Console, store: OpenStore,
    auditKeyring: AuditKeyring, accountSigning: AccountSigning, sweeping: Sweeping, archiving: Archiving?,
    trustWatching: TrustWatching, pepperCheck: [UInt8], meters: ServerMeters, tracing: Tracing?, log: LogOutput?,
    logger: Logger
  ) {
    self.meters = meters
    metrics = { [registry = meters.registry] in registry.text() }
    self.addresses = addresses
    self.listeners = listeners
    self.files = files
    self.tls = tls
    self.tlsSettings = tlsSettings
    self.service = service
    self.server = server
    self.http = http
    self.console = console
    self.store = store
    self.tracing = tracing
    self.log = log
    self.logger = logger
    self.pepperCheck = pepperCheck
    self.archiving = archiving
    self.trustWatching = trustWatching
    self.sweeping = sweeping
    self.auditKeyring = auditKeyring
    self.accountSigning = accountSigning
    self.logVerifying = LogVerifying(
      store: store.store, auditKeyring: auditKeyring, logger: logger,
      observer: { meters.noteVerification(isIntact: $0) })
    self.clockWatching = store.clockDifference.map {
      ClockWatching(difference: $0, logger: logger, noted: { meters.clockOffset.set($0.inSeconds) })
    }
    meters.registry.observe(service)
    meters.registry.observe(server, tls)
    meters.registry.observe(store)
    meters.registry.observe(trustWatching)
    if let tracing { meters.registry.observe(tracing) }
    if let log { meters.registry.observe(log) }
  }

  /// Replaces policies, callers, and what proofs of keys must lead to and applications demand of them, and reads
  /// certificates and keys again from the same files. Evaluations that began under another revision of their policy
  /// become void (R36), and so do those of removed callers (R34), and everything that was made with a removed key. If
  /// anything is wrong, it changes nothing.
  ///
  /// Returns the ids of the keys.
  func reload(_ configuration: ProcessConfiguration) throws(Failure) -> String {
    let callers = configuration.service.callers
    for listener in listeners {
      try listener.require(callers: callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    let attestationTrust = try configuration.loadAttestationTrust()
    try attestationTrust.requireMetadata(noOlderThan: service.metadataNumber)
    let keys = try configuration.keySource.load()
    guard Pepper.areEqual(keys.pepper.check, pepperCheck) else {
      throw Failure(
        kind: .unusableKeys,
        message: "\(configuration.keySource.name): the pepper differs from the one with which this service runs")
    }
    do throws(RPCTLSError) {
      try tlsSettings?.requireProtection()
      try tls?.reload()
    } catch {
      throw Failure(error)
    }
    service.replaceKeys(keys)
    service.replaceAttestationTrust(attestationTrust)
    trustWatching.replace(attestationTrust)
    service.replaceApplications(configuration.service.applications)
    configuration.logWarnings(logger)
    auditKeyring.replace(keys.audit)
    accountSigning.keysChanged()
    service.replacePolicies(configuration.service.policies)
    service.replaceCallers(callers)
    if let vendors = configuration.service.vendors { service.replaceVendors(vendors) }
    console.replace(configuration.consoleSettings)
    return keys.summary
  }

  /// Refuses new calls, lets the running ones finish, then closes the store.
  package func stop(grace: Duration, completion: @escaping @Sendable () -> Void) {
    sweeping.cancel()
    logVerifying.cancel()
    clockWatching?.cancel()
    trustWatching.cancel()
    archiving?.cancel()
    // Before its clients are told to leave, so that load balancers send no new ones.
    service.beginDraining()
    let close: @Sendable () -> Void = { [store, meters, tracing, logger] in
      meters.registry.dropReadings()
      store.store.close {
        store.logWhatWasWritten(logger)
        guard let tracing else { return completion() }
        tracing.exporter.stop(completion: completion)
      }
    }
    let finish: @Sendable () -> Void = { [archiving] in
      guard let archiving else { return close() }
      archiving.whenIdle(close)
    }
    // HTTP goes on until the last call has ended, so that probes see the service drain.
    server.shutDown(grace: grace) { [http] in
      guard let http else { return finish() }
      http.shutDown(completion: finish)
    }
  }
}

extension RPCServer {
  fileprivate func listen(on listener: Listener, _ tls: RPCServerTLS?) throws(RPCServerError) -> SocketAddress {
    switch listener.endpoint {
    case .unix(let path):
      try listen(unixPath: path)
    case .tcp(_, let port):
      // By number, because a name may have another address by now.
      try listen(host: listener.address.host, port: port, tls: listener.isEncrypted ? tls : nil)
    }
  }
}

extension AttestationTrust {
  /// An older one would bring back models that became known as revoked.
  fileprivate func requireMetadata(noOlderThan number: Int?) throws(Failure) {
    guard let metadata, let number, metadata.number < number else { return }
    throw Failure(
      kind: .badConfiguration,
      message: """
        \(AttestationFiles.metadataSetting) has number \(metadata.number), and number \(number) is in force: fetch the newest, or \
        restart the service if this is meant
        """)
  }
}

extension ProcessConfiguration {
  fileprivate func logWarnings(_ logger: Logger) {
    for warning in warnings { logger.warning("\(warning)") }
  }
}

extension OpenStore {
  /// Logs how many commits shared an fsync, if this process wrote them.
  fileprivate func logWhatWasWritten(_ logger: Logger) {
    guard let written = statistics?() else { return }
    logger.notice("closed the store", metadata: ["commits": "\(written.commits)", "fsyncs": "\(written.transactions)"])
  }
}
