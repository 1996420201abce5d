// The metrics that are read when a client reads the metrics, and are not counted before. Nothing here waits for a
// store, a disk or a lock that is held for long.

internal import DispatchRPC
internal import TouchstoneMetrics
internal import TouchstoneService
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

extension MetricRegistry {
  func observe(_ service: TouchstoneService) {
    observe(.serving) { [weak service] in service.map { [MetricSample($0.isServing ? 1 : 0)] } ?? [] }
    observe(.secretChecks) { [weak service] in
      guard let load = service?.secretLoad else { return [] }
      return .samples(["waiting": load.waiting, "placed": load.permitted, "running": load.running])
    }
  }

  func observe(_ server: RPCServer, _ tls: RPCServerTLS?) {
    observe(.openConnections) { [weak server] in [MetricSample(Double(server?.connectionCount ?? 0))] }
    guard let tls else { return }
    observe(.handshakes) {
      let statistics = tls.statistics
      return .samples([
        "full": statistics.full, "resumed": statistics.resumed, "refused": statistics.refused,
        "failed": statistics.failed,
      ])
    }
    observe(.certificateExpiry) { [MetricSample(Double(tls.certificateEnd))] }
  }

  func observe(_ store: any Store) {
    if let store = store as? SQLiteStore {
      observe(.storeOverloads) { [MetricSample(Double(store.statistics.overloads))] }
      observe(.storeCheckpoints) { [MetricSample(Double(store.statistics.checkpoints))] }
      observe(.storeLogPages) { [MetricSample(Double(store.statistics.walFrames))] }
    }
    if let store = store as? PostgresStore {
      observe(.storeConnections) { store.lanes.flatMap(\.connectionSamples) }
      observe(.storeTransactions) { store.lanes.flatMap(\.transactionSamples) }
      observe(.auditUnsealed) { [MetricSample(store.unsealedFor.inSeconds)] }
    }
  }

  func observe(_ capacity: CapacityWatching) {
    for family in [MetricFamily.storeSize, .archiveSize, .filesystemAvailable, .filesystemSize] {
      observe(family) { capacity.samples(of: family) }
    }
  }

  func observe(_ trust: TrustWatching) {
    observe(.trustDataWritten) { trust.dates.map { MetricSample($0.time.inSeconds, $0.setting) } }
  }

  func observe(_ running: [RunningCallCount]) {
    observe(.callsInFlight) { [MetricSample(Double(running.reduce(0) { $0 + $1.value }))] }
  }

  func observe(_ tracing: Tracing) {
    observe(.spansExported) { [exporter = tracing.exporter] in [MetricSample(Double(exporter.statistics.exported))] }
    observe(.spansDropped) { [exporter = tracing.exporter] in
      let statistics = exporter.statistics
      return .samples([
        "queue_full": statistics.overflow, "refused": statistics.refused, "stopped": statistics.unsent,
      ])
    }
    observe(.tracesLimited) { [tracer = tracing.tracer] in [MetricSample(Double(tracer.callsBeyondBound))] }
  }

  func observe(_ log: LogOutput) {
    observe(.logLinesDropped) { [weak log] in [MetricSample(Double(log?.droppedLines ?? 0))] }
  }

  func observeProcess(version: String) {
    observe(.buildInfo) { [MetricSample(1, version)] }
    let start = ProcessReading.startTime()
    if let start { observe(.processStart) { [MetricSample(start)] } }
    observe(.processCPU) { [MetricSample(ProcessReading.processorSeconds())] }
    observe(.processResident) { ProcessReading.memory().map { [MetricSample($0.resident)] } ?? [] }
    observe(.processVirtual) { ProcessReading.memory().map { [MetricSample($0.virtual)] } ?? [] }
    observe(.processOpenFiles) { ProcessReading.openDescriptors().map { [MetricSample(Double($0))] } ?? [] }
    observe(.processMaximumFiles) { ProcessReading.maximumDescriptors().map { [MetricSample($0)] } ?? [] }
  }
}

extension [MetricSample] {
  /// A sample for each value of a family's last label.
  ///
  /// - Parameter first: the label before it, of all of them.
  fileprivate static func samples(
    _ numbers: KeyValuePairs<String, some BinaryInteger>, _ first: String? = nil
  ) -> [MetricSample] {
    numbers.map { label, number in
      first.map { MetricSample(Double(number), $0, label) } ?? MetricSample(Double(number), label)
    }
  }
}

extension StoreLane {
  fileprivate var connectionSamples: [MetricSample] {
    .samples(["connecting": connecting, "serving": serving, "leaving": leaving], name)
  }

  fileprivate var transactionSamples: [MetricSample] {
    .samples(["in_use": inUse, "idle": idle, "waiting": waiting], name)
  }
}
