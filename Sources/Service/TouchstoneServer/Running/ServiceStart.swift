// The stages of a start: what it checks before it opens the store, and the parts that it makes on the open store.

internal import DispatchHTTP
internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneMetrics
internal import TouchstoneService
internal import TouchstoneStore

/// The process in which a service runs.
struct StartedProcess: Sendable {
  let logger: Logger
  /// `nil`: the log is another one's (tests).
  let log: LogOutput?
  let cores: Int
  let version: String
  let clock: ServiceEnvironment.Clock
}

/// The first stage: a configuration with its addresses and files, all of them checked. It has changed nothing.
struct PreparedStart: Sendable {
  let configuration: ProcessConfiguration
  let listeners: [Listener]
  let httpListeners: [HTTPListener]
  /// From before the files were read.
  let files: FileSnapshot
  let tls: RPCServerTLS?
  /// `nil`: no call is traced.
  let tracing: Tracing?
  /// `nil`: no identity provider signs operators in.
  let openID: OpenIDSettings?
  let descriptors: DescriptorLimit?
  let meters: ServerMeters
  /// The server's and the store's.
  let eventLoops: [EventLoop]

  init(_ configuration: ProcessConfiguration, in process: StartedProcess) throws(Failure) {
    listeners = try Listener.all(of: configuration)
    for listener in listeners {
      try listener.require(
        callers: configuration.service.callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    httpListeners = try HTTPListener.all(of: configuration)
    files = configuration.files(configuration.tls)
    tls = try configuration.loadTLS()
    openID = try configuration.console.openID?.load(configuration)
    let logger = process.logger
    tracing = try Tracing(configuration, version: process.version, logger: logger)
    var configuration = configuration
    configuration.service.attestationTrust = try configuration.loadAttestationTrust(at: process.clock())
    if configuration.console.signIn != .password {
      configuration.service.operatorPasskeys = configuration.consoleURL?.passkeys
    }
    configuration.logWarnings(logger)
    self.configuration = configuration
    descriptors = DescriptorLimit.raised()
    eventLoops = EventLoop.group(
      configuration.shards == 0 ? process.cores : configuration.shards, label: RPCServer.label)
    meters = ServerMeters(
      registry: MetricRegistry { family in
        logger.warning(
          "a series of a metric was not made, because its family is full or unknown: report it as a mistake in the service",
          metadata: ["family": "\(family)"])
      })
  }

  /// The target for a call's time: many times a commit's, so that only calls in a queue take longer.
  private static let handlerTarget = Duration.milliseconds(100)

  func serverConfigurations(
    for service: TouchstoneService, logger: Logger
  ) -> (rpc: RPCServerConfiguration, http: HTTPServerConfiguration, httpCalls: CallMeters) {
    let descriptorLog = DescriptorLog(logger)
    var rpc = RPCServerConfiguration()
    rpc.eventLoops = eventLoops.count
    // The codec would refuse larger messages.
    rpc.maxRequestMessageBytes = DecodingLimits.default.maximumBytes
    rpc.handlersAdmitCalls = true
    rpc.overloadError = TouchstoneService.overloadError
    rpc.shedding?.handlerTarget = Self.handlerTarget
    configuration.limits.apply(to: &rpc)
    rpc.onOutOfDescriptors = { descriptorLog.ranOut() }
    rpc.onHandshakeFailure = { client, failure in service.handshakeFailed(from: client, failure) }
    var http = HTTPServerConfiguration()
    http.onOutOfDescriptors = rpc.onOutOfDescriptors
    http.onHandshakeFailure = rpc.onHandshakeFailure
    if let descriptors {
      http.limits.connections = descriptors.httpConnections(wanted: http.limits.connections)
      descriptors.bound(&rpc, beside: httpListeners.count * http.limits.connections, logger: logger)
    }
    // The last one is for calls that come by HTTP.
    let running = (0...eventLoops.count).map { _ in RunningCallCount() }
    meters.registry.observe(running)
    let paths = service.methods.paths
    rpc.observer = { [meters] eventLoop in CallMeters(meters.registry, paths: paths, running: running[eventLoop]) }
    let httpCalls = CallMeters(meters.registry, paths: paths, running: running[eventLoops.count])
    return (rpc, http, httpCalls)
  }
}

/// The second stage, on the open store: the keys, and the service and its console, which serve nobody yet.
struct ServiceParts: Sendable {
  let pepperCheck: [UInt8]
  let auditKeyring: AuditKeyring
  let accountSigning: AccountSigning
  let service: TouchstoneService
  let console: Console

  /// Wait for the identity provider, so that one slow answer holds up no other sign-in.
  private static let providerThreads = 2

  /// The service's event loops are the RPC server's, the console's, and that of calls by HTTP.
  static func consoleLoopIndex(_ prepared: PreparedStart) -> Int { prepared.eventLoops.count }
  static func httpLoopIndex(_ prepared: PreparedStart) -> Int { prepared.eventLoops.count + 1 }

  init(_ prepared: PreparedStart, on store: any Store, in process: StartedProcess) throws(Failure) {
    let (configuration, meters, logger) = (prepared.configuration, prepared.meters, process.logger)
    let keys = try configuration.keySource.load(for: store, mayCreate: configuration.mayMakeKeys)
    // A start that fails before prints its failure alone.
    logger.notice("starting", metadata: ["version": "\(process.version)"])
    logger.notice("keys loaded", metadata: ["keys": "\(keys.summary)", "from": "\(configuration.keySource.name)"])
    if keys.audit == nil {
      logger.warning(
        """
        there is no audit key, so erased and archived events are accounted for without a signature: add one where the keys \
        are (`touchstone keys rotate DIRECTORY audit --after 1h`)
        """)
    }
    pepperCheck = keys.pepper.check
    auditKeyring = AuditKeyring(keys.audit)
    accountSigning = try AccountSigning(store: store, keyring: auditKeyring, logger: logger)
    var environment = ServiceEnvironment(cores: process.cores)
    environment.clock = process.clock
    environment.metrics = meters.registry
    environment.tracer = prepared.tracing?.tracer
    environment.decisions = process.log
    environment.version = process.version
    logger.notice("signatures are verified", metadata: ["by": "\(environment.signatures.name)"])
    service = TouchstoneService(
      configuration: configuration.service, store: store, keys: keys,
      eventLoopCount: Self.httpLoopIndex(prepared) + 1,
      logger: logger, environment: environment)
    console = Console(
      configuration.consoleSettings, service: service, eventLoop: Self.consoleLoopIndex(prepared),
      browsers: BrowserProofs(pepper: keys.pepper), url: configuration.consoleURL,
      signInRule: configuration.console.signIn,
      provider: prepared.openID.map { settings in
        OpenIDProvider(
          settings, executor: SecretWorkers(threads: ServiceParts.providerThreads, niceness: SecretWorkers.operators)
        ) { logger.warning("a sign-in by the identity provider failed", metadata: ["reason": "\($0)"]) }
      },
      secrets: SecretWorkers(threads: 1, niceness: SecretWorkers.operators), clock: process.clock,
      health: ConsoleHealthReading(
        service: service, store: store, place: configuration.storeLocation.description, meters: meters,
        tls: prepared.tls, version: process.version
      ).read)
  }
}
