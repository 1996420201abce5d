// grpc.health.v1: the serving status, for load balancers and orchestrators.

internal import DispatchRPC
internal import Logging
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// Keeps the status, probes the store, and sends changes to the watches.
final class Health: Sendable {
  /// Each watch is an idle stream. Load balancers have one for each connection.
  static let maximumWatchers = 1_024
  /// The protocol is open to every peer.
  static let maximumStrangersPerPeer = 64

  private let machine = Mutex(HealthStateMachine())
  private let watchers = OpenStreams<HealthWatcher>(
    .init(all: maximumWatchers, strangersPerGroup: maximumStrangersPerPeer))
  private let store: any Store
  private let timer: any DelayedExecutor
  private let logger: Logger

  init(store: any Store, timer: any DelayedExecutor, logger: Logger) {
    self.store = store
    self.timer = timer
    self.logger = logger
  }

  /// "" is the server as a whole. All services have the same status.
  static let services = [""] + MethodDescriptor.services(where: { $0.access == .applicationGranted })

  var isServing: Bool { machine.withLock { $0.isServing } }
  var isDraining: Bool { machine.withLock { $0.isDraining } }

  /// `nil`: there is no such service.
  func status(of service: String) -> GRPCHealth.CheckResponse.ServingStatus? {
    guard Self.services.contains(where: { Identifier.areEqual($0, service) }) else { return nil }
    return isServing ? .serving : .notServing
  }

  // MARK: Changes of the status

  /// A call, or the service's own work, could not read or write.
  func storeFailed() {
    if case .probe(let number) = transition({ $0.storeFailed() }) { probe(number: number) }
  }

  func clockChecked(isUsable: Bool) {
    transition { $0.clockChecked(isUsable: isUsable) }
  }

  /// Called before clients are told to leave.
  func drain() {
    transition { $0.drain() }
    watchers.drain()
  }

  private func probe(number: Int) {
    timer.after(HealthStateMachine.probeTimeout) { [weak self] in self?.transition { $0.probeIsLate(number: number) } }
    store.probe { [weak self] result in
      let isAvailable = if case .success = result { true } else { false }
      self?.probed(isAvailable: isAvailable)
    }
  }

  private func probed(isAvailable: Bool) {
    guard case .probeLater = transition({ $0.probed(isAvailable: isAvailable) }) else { return }
    timer.after(HealthStateMachine.probeInterval) { [weak self] in
      guard let self else { return }
      probe(number: transition { $0.probeIsDue() })
    }
  }

  /// The only way to change the status. It sends the change to all watches.
  @discardableResult
  private func transition<Action: Sendable>(_ change: (inout HealthStateMachine) -> Action) -> Action {
    let (action, before, after) = machine.withLock { machine in
      let before = machine.isServing
      let action = change(&machine)
      return (action, before, machine.isServing)
    }
    if before != after {
      logger.notice("\(after ? "serving" : "not serving")")
      for watcher in watchers.all { watcher.statusChanged() }
    }
    return action
  }

  // MARK: Watching

  func watch(
    _ service: String, on exchange: StreamExchange<GRPCHealth.CheckResponse>, initialMetadata: Metadata
  ) throws(RequestError) -> MethodTable.StreamEvents {
    let watcher = HealthWatcher(service: service, health: self, exchange: exchange)
    let stream = exchange.stream
    try watchers.add(
      watcher, of: stream.admittedCaller.map(StreamOwner.caller) ?? .strangers(stream.peer.address.subscriber))
    stream.onCancel { [watchers] _ in watchers.remove(watcher) }
    exchange.stream.accept(initialMetadata)
    watcher.tell()
    return { event in
      if case .writable = event { watcher.tell() }
    }
  }

  fileprivate func forget(_ watcher: HealthWatcher) {
    watchers.remove(watcher)
  }
}

/// One call of Watch.
///
/// `@unchecked Sendable`: `told` is used only on the call's event loop.
private final class HealthWatcher: OpenStream, @unchecked Sendable {
  private let service: String
  private let health: Health
  let exchange: StreamExchange<GRPCHealth.CheckResponse>
  private var told: GRPCHealth.CheckResponse.ServingStatus?

  init(service: String, health: Health, exchange: StreamExchange<GRPCHealth.CheckResponse>) {
    self.service = service
    self.health = health
    self.exchange = exchange
  }

  func statusChanged() {
    exchange.onLoop { self.tell() }
  }

  /// Sends the present status, unless it was the last one sent. A change that was undone while the client read nothing
  /// is not sent.
  func tell() {
    let status = health.status(of: service) ?? .serviceUnknown
    guard status != told, exchange.stream.isWritable else { return }
    told = status
    exchange.send(GRPCHealth.CheckResponse(status: status))
  }

  /// Sends the last status and ends the stream, so that it does not keep the connection open.
  func leave(_ error: RequestError) {
    tell()
    exchange.refuse(error)
    health.forget(self)
  }
}

extension TouchstoneService {
  /// The metadata of health answers that names the version.
  static let versionMetadata = "touchstone-version"

  func registerHealth(_ methods: inout MethodTable) {
    typealias Service = GRPCHealth.Health
    register(Service.check, in: &methods, start: checkHealth)
    register(Service.list, in: &methods, start: listHealth)
    register(Service.watch, in: &methods) { [self] request, exchange throws(RequestError) in
      try health.watch(request.service, on: exchange, initialMetadata: versionMetadata(for: exchange.incoming))
    }
  }

  @Sendable private func checkHealth(
    _ request: GRPCHealth.CheckRequest, _ exchange: Exchange<GRPCHealth.CheckResponse>
  ) throws(RequestError) {
    guard let status = health.status(of: request.service) else { throw .notFound("there is no such service") }
    exchange.answer(
      GRPCHealth.CheckResponse(status: status), initialMetadata: versionMetadata(for: exchange.incoming))
  }

  @Sendable private func listHealth(_: GRPCHealth.ListRequest, _ exchange: Exchange<GRPCHealth.ListResponse>) {
    let entries = Health.services.map { service in
      GRPCHealth.ListResponse.StatusesEntry(
        key: service, value: GRPCHealth.CheckResponse(status: health.status(of: service) ?? .unspecified))
    }
    exchange.answer(
      GRPCHealth.ListResponse(statuses: entries), initialMetadata: versionMetadata(for: exchange.incoming))
  }

  /// For callers of the configuration alone: a version tells strangers which weaknesses to try.
  private func versionMetadata(for call: any IncomingContext) -> Metadata {
    var metadata = Metadata()
    if let version, access.knows(call) { metadata.append(Self.versionMetadata, version) }
    return metadata
  }

  /// Whether grpc.health.v1 answers SERVING.
  public var isServing: Bool { health.isServing }

  /// Whether `beginDraining` was called.
  package var isDraining: Bool { health.isDraining }

  /// Reports a failure of the store outside of calls. The status must change even if no call comes.
  public func storeFailed() {
    health.storeFailed()
  }

  /// Until the clock is usable the service is NOT_SERVING, because everything that it issued would be void.
  public func clockChecked(isUsable: Bool) {
    health.clockChecked(isUsable: isUsable)
  }

  /// Changes the status to NOT_SERVING, and ends the streams that would keep connections open. Must be called before
  /// the server tells its clients to leave.
  public func beginDraining() {
    health.drain()
    reflection?.drain()
    watches.drain()
  }
}
