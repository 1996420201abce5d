// The whole service, running in this process: the store, the keys, the handlers, the listeners, the upkeep.

package import DispatchRPC
internal import Glibc
package import Logging
internal import TouchstoneAttestation
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneMetrics
package import TouchstoneService
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

/// The store, the keys, the handlers and the RPC server of one process.
package final class RunningService: Sendable {
  /// In the order of the configuration.
  package let addresses: [SocketAddress]
  /// The HTTP server's URLs, in the same order.
  package var urls: [String] { http?.urls ?? [] }
  /// The text of all metrics, for Prometheus (docs/METRICS.md). It waits for nothing, and may be read on any thread.
  package var metrics: @Sendable () -> String { { [registry = meters.registry] in registry.text() } }
  var meters: ServerMeters { prepared.meters }
  /// The files of the configuration, from before they were read.
  var files: FileSnapshot { prepared.files }
  var log: LogOutput? { process.log }
  var logger: Logger { process.logger }
  let store: any Store
  private let process: StartedProcess
  private let prepared: PreparedStart
  private let parts: ServiceParts
  private let upkeep: Upkeep
  private let server: RPCServer
  private let http: HTTPService?

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
    let process = StartedProcess(logger: logger, log: log, cores: cores, version: version, clock: clock)
    let prepared = try PreparedStart(configuration, in: process)
    let store = try configuration.storeLocation.open(
      on: prepared.eventLoops, observer: prepared.meters.storeObserver, logger: logger)
    do throws(Failure) {
      return try RunningService(prepared, on: store, in: process)
    } catch {
      // The process ends next, and SQLite removes its write-ahead log only if the database is closed before that.
      let _: Void? = try? answer { done in store.close { done(.success(())) } }
      throw error
    }
  }

  private init(_ prepared: PreparedStart, on store: any Store, in process: StartedProcess) throws(Failure) {
    (self.prepared, self.store, self.process) = (prepared, store, process)
    let (configuration, meters) = (prepared.configuration, prepared.meters)
    parts = try ServiceParts(prepared, on: store, in: process)
    let service = parts.service
    let settings = prepared.serverConfigurations(for: service, logger: process.logger)
    server = RPCServer(configuration: settings.rpc, on: prepared.eventLoops, router: service.router) {
      service.roundEnded(on: $0)
    }
    // Before the service is SERVING.
    let early = try EarlyUpkeep(prepared, parts, on: store, logger: process.logger)
    // Its addresses are taken before callers are served, and its clients served after: an address in use leaves nothing
    // half-started.
    http = try HTTPService(
      on: prepared.httpListeners, tls: prepared.tls,
      routes: HTTPRoutes(
        service: service, issuer: configuration.service.issuer, metrics: RenderedMetrics(meters.registry.text),
        console: parts.console, callMeters: settings.httpCalls),
      loopIndex: ServiceParts.httpLoopIndex(prepared), configuration: settings.http)
    addresses = try Self.listen(on: prepared.listeners, server, prepared.tls)
    try http?.begin()
    upkeep = Upkeep(early, prepared, parts, on: store, in: process)
    observe()
  }

  private func observe() {
    let registry = meters.registry
    registry.observe(parts.service)
    registry.observe(server, prepared.tls)
    registry.observe(store)
    registry.observe(upkeep.trustWatching)
    registry.observe(upkeep.capacityWatching)
    if let tracing = prepared.tracing { registry.observe(tracing) }
    if let log { registry.observe(log) }
    registry.observeProcess(version: process.version)
  }

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

  /// Replaces policies, callers, and what proofs of keys must lead to and applications demand of them, and reads
  /// certificates and keys again from the same files. Evaluations that began under another revision of their policy
  /// become void (R36), and so do those of removed callers (R34), and everything that was made with a removed key. If
  /// anything is wrong, it changes nothing.
  ///
  /// Returns the ids of the keys.
  func reload(_ configuration: ProcessConfiguration) throws(Failure) -> String {
    let callers = configuration.service.callers
    for listener in prepared.listeners {
      try listener.require(callers: callers, allowsPlaintext: configuration.allowsPlaintextBeyondLoopback)
    }
    let attestationTrust = try configuration.loadAttestationTrust()
    try attestationTrust.requireMetadata(noOlderThan: parts.service.metadataNumber)
    let keys = try configuration.keySource.load()
    guard Pepper.areEqual(keys.pepper.check, parts.pepperCheck) else {
      throw Failure(
        kind: .unusableKeys,
        message: "\(configuration.keySource.name): the pepper differs from the one with which this service runs")
    }
    try failing { () throws(RPCTLSError) in
      try prepared.configuration.tls?.requireProtection()
      try prepared.tls?.reload()
    }
    let service = parts.service
    service.replaceKeys(keys)
    service.replaceAttestationTrust(attestationTrust)
    upkeep.trustWatching.replace(attestationTrust)
    service.replaceApplications(configuration.service.applications)
    configuration.logWarnings(logger)
    parts.auditKeyring.replace(keys.audit)
    parts.accountSigning.keysChanged()
    service.replacePolicies(configuration.service.policies)
    service.replaceCallers(callers)
    if let vendors = configuration.service.vendors { service.replaceVendors(vendors) }
    parts.console.replace(configuration.consoleSettings)
    return keys.summary
  }

  /// Refuses new calls, lets the running ones finish, then closes the store.
  package func stop(grace: Duration, completion: @escaping @Sendable () -> Void) {
    upkeep.cancel()
    // Before its clients are told to leave, so that load balancers send no new ones.
    parts.service.beginDraining()
    let close: @Sendable () -> Void = { [store, meters, tracing = prepared.tracing, logger] in
      meters.registry.dropReadings()
      store.close {
        store.logWhatWasWritten(logger)
        guard let tracing else { return completion() }
        tracing.exporter.stop(completion: completion)
      }
    }
    let finish: @Sendable () -> Void = { [upkeep] in upkeep.whenIdle(close) }
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
  func logWarnings(_ logger: Logger) {
    for warning in warnings { logger.warning("\(warning)") }
  }
}

extension Store {
  /// Logs how many commits shared an fsync, if this process wrote them.
  fileprivate func logWhatWasWritten(_ logger: Logger) {
    guard let written = (self as? SQLiteStore)?.statistics else { return }
    logger.notice("closed the store", metadata: ["commits": "\(written.commits)", "fsyncs": "\(written.transactions)"])
  }
}
