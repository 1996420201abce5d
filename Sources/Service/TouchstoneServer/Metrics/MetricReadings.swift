// The metrics that are read when a client reads the metrics, and are not counted before. Nothing here waits for a
// store, a disk or a lock that is held for long.

internal import DispatchRPC
internal import TouchstoneMetrics
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore

extension MetricRegistry {
  func observe(_ service: TouchstoneService) {
    observe(.serving) { [weak service] in service.map { [MetricSample($0.isServing ? 1 : 0)] } ?? [] }
    observe(.secretChecks) { [weak service] in
      guard let load = service?.secretLoad else { return [] }
      return [
        MetricSample(Double(load.waiting), "waiting"), MetricSample(Double(load.permitted), "placed"),
        MetricSample(Double(load.running), "running"),
      ]
    }
  }

  func observe(_ server: RPCServer, _ tls: RPCServerTLS?) {
    observe(.openConnections) { [weak server] in [MetricSample(Double(server?.connectionCount ?? 0))] }
    guard let tls else { return }
    observe(.handshakes) {
      let statistics = tls.statistics
      return [
        MetricSample(Double(statistics.full), "full"), MetricSample(Double(statistics.resumed), "resumed"),
        MetricSample(Double(statistics.refused), "refused"), MetricSample(Double(statistics.failed), "failed"),
      ]
    }
    observe(.certificateExpiry) { [MetricSample(Double(tls.certificateEnd))] }
  }

  func observe(_ store: OpenStore) {
    if let statistics = store.statistics {
      observe(.storeOverloads) { [MetricSample(Double(statistics().overloads))] }
      observe(.storeCheckpoints) { [MetricSample(Double(statistics().checkpoints))] }
      observe(.storeLogPages) { [MetricSample(Double(statistics().walFrames))] }
    }
    if let lanes = store.lanes {
      observe(.storeConnections) { lanes().flatMap(\.connectionSamples) }
      observe(.storeTransactions) { lanes().flatMap(\.transactionSamples) }
    }
    if let unsealedFor = store.unsealedFor {
      observe(.auditUnsealed) { [MetricSample(unsealedFor().inSeconds)] }
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
      return [
        MetricSample(Double(statistics.overflow), "queue_full"), MetricSample(Double(statistics.refused), "refused"),
        MetricSample(Double(statistics.unsent), "stopped"),
      ]
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

extension StoreLane {
  fileprivate var connectionSamples: [MetricSample] {
    [
      MetricSample(Double(connecting), name, "connecting"), MetricSample(Double(serving), name, "serving"),
      MetricSample(Double(leaving), name, "leaving"),
    ]
  }

  fileprivate var transactionSamples: [MetricSample] {
    [
      MetricSample(Double(inUse), name, "in_use"), MetricSample(Double(idle), name, "idle"),
      MetricSample(Double(waiting), name, "waiting"),
    ]
  }
}
