// The state of the process for the console: read when a page is made, from memory, and from the database the list of
// its clients.

internal import DispatchRPC
internal import TouchstoneConsole
internal import TouchstoneMetrics
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore
internal import TouchstoneStorePostgres

struct ConsoleHealthReading: Sendable {
  let service: TouchstoneService
  let store: any Store
  /// The store's kind and place, without secrets.
  let place: String
  let meters: ServerMeters
  let tls: RPCServerTLS?
  let version: String

  @Sendable func read() async -> ConsoleHealth {
    var health = ConsoleHealth()
    health.isServing = service.isServing
    health.version = version
    health.store = place
    health.startedAt = ProcessReading.startTime().map { Int64($0) }
    health.certificateEnd = tls.map { Int64($0.certificateEnd) }
    func time(_ family: MetricFamily) -> Int64? { meters.registry.number(of: family).map { Int64($0) } }
    health.clockOffsetSeconds = meters.registry.number(of: .clockOffset)
    health.verifiedAt = time(.auditVerified)
    health.isIntact = meters.registry.number(of: .auditIntact).map { $0 == 1 }
    health.sweptAt = time(.sweepSuccess)
    health.archivedAt = time(.archiveSuccess)
    health.reloadedAt = time(.reloadSuccess)
    health.replicas = await replicas()
    return health
  }
}

extension ConsoleHealthReading {
  /// `nil`: the store has one process, or cannot tell.
  private func replicas() async -> [ConsoleHealth.Replica]? {
    guard let store = store as? PostgresStore else { return nil }
    return try? await storeResult { store.clients(completion: $0) }.get().map { client in
      ConsoleHealth.Replica(address: client.address, connections: client.connections, since: client.since.seconds)
    }
  }
}

extension ProcessConfiguration {
  var consoleSettings: ConsoleSettings {
    ConsoleSettings(
      operators: operators?.isEmpty == false || console.openID != nil ? operators ?? [] : nil,
      policies: service.policies,
      applications: Set(service.namedApplications + service.applications.keys).sorted())
  }
}
