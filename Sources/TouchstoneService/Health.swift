// grpc.health.v1: whether the service serves, for load balancers and orchestrators.

internal import DispatchRPC
internal import Logging
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// Keeps the status, finds out about the store, and tells those who watch.
final class Health: Sendable {
  /// Each a stream that waits; load balancers have one for each connection.
  static let maximumWatchers = 1_024
  /// The protocol knows no callers, and anybody may ask: one peer must not take the places of all.
  static let maximumWatchersPerPeer = 64

  private let machine = Mutex(HealthStateMachine())
  private let watchers = OpenStreams<HealthWatcher, SocketAddress>(
    limit: maximumWatchers, limitPerOwner: maximumWatchersPerPeer)
  private let store: any Store
  private let timer: any DelayedExecutor
  private let logger: Logger

  init(store: any Store, timer: any DelayedExecutor, logger: Logger) {
    self.store = store
    self.timer = timer
    self.logger = logger
  }

  /// "" is the server as a whole. All of them serve or none.
  static let services: [String] = {
    var services = [""]
    for method in ServedMethods.all where method.rule == .applicationGranted && !services.contains(method.service) {
      services.append(method.service)
    }
    return services
  }()

  /// `nil`: there is no such service.
  func status(of service: String) -> GRPCHealth.ServingStatus? {
    guard Self.services.contains(where: { Identifier.areEqual($0, service) }) else { return nil }
    return machine.withLock { $0.isServing } ? .serving : .notServing
  }

  // MARK: What is learnt

  /// A call, or what the service does by itself, could not read or write.
  func storeFailed() {
    if case .probe(let number) = transition({ $0.storeFailed() }) { probe(number: number) }
  }

  func clockChecked(isUsable: Bool) {
    transition { $0.clockChecked(isUsable: isUsable) }
  }

  /// Before clients are asked to leave.
  func drain() {
    transition { $0.drain() }
    for watcher in watchers.drain() { watcher.leave() }
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

  /// The only way to change: whoever watches hears of it.
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
    _ service: String, on exchange: StreamExchange<GRPCHealth.CheckResponse>
  ) throws(RequestError) -> MethodTable.StreamEvents {
    let watcher = HealthWatcher(service: service, health: self, exchange: exchange)
    try watchers.add(watcher, of: exchange.stream.peer.address.subscriber, .peer)
    exchange.stream.onCancel { [watchers] in watchers.remove(watcher) }
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
/// `@unchecked Sendable`: `told` is touched on the call's shard alone.
private final class HealthWatcher: @unchecked Sendable {
  private let service: String
  private let health: Health
  private let exchange: StreamExchange<GRPCHealth.CheckResponse>
  private var told: GRPCHealth.ServingStatus?

  init(service: String, health: Health, exchange: StreamExchange<GRPCHealth.CheckResponse>) {
    self.service = service
    self.health = health
    self.exchange = exchange
  }

  func statusChanged() {
    exchange.onShard { self.tell() }
  }

  /// How it stands now, unless it was told. What changed and changed back while the caller took nothing is not told.
  func tell() {
    let status = health.status(of: service) ?? .serviceUnknown
    guard status != told, exchange.stream.isWritable else { return }
    told = status
    exchange.send(GRPCHealth.CheckResponse(status: status))
  }

  /// The last word, so that the connection is not held up.
  func leave() {
    exchange.onShard {
      self.tell()
      self.exchange.refuse(.draining)
      self.health.forget(self)
    }
  }
}

extension TouchstoneService {
  private static let healthService = "/grpc.health.v1.Health"

  func registerHealth(_ methods: inout MethodTable) {
    let service = Self.healthService
    registerOpen("\(service)/Check", in: &methods) {
      [health] (request: GRPCHealth.CheckRequest, exchange: Exchange<GRPCHealth.CheckResponse>) throws(RequestError) in
      guard let status = health.status(of: request.service) else { throw .notFound("there is no such service") }
      exchange.answer(GRPCHealth.CheckResponse(status: status))
    }
    registerOpen("\(service)/List", in: &methods) {
      [health] (_: GRPCHealth.ListRequest, exchange: Exchange<GRPCHealth.ListResponse>) throws(RequestError) in
      let entries = Health.services.map { service in
        GRPCHealth.ListResponse.Entry(
          key: service, value: GRPCHealth.CheckResponse(status: health.status(of: service) ?? .unspecified))
      }
      exchange.answer(GRPCHealth.ListResponse(statuses: entries))
    }
    registerOpenServerStreaming("\(service)/Watch", in: &methods) {
      [health] (request: GRPCHealth.CheckRequest, exchange: StreamExchange<GRPCHealth.CheckResponse>)
        throws(RequestError) in
      try health.watch(request.service, on: exchange)
    }
  }

  /// For whoever uses the store beside the calls, and cannot: without any call, too, health has to say so.
  public func storeFailed() {
    health.storeFailed()
  }

  /// Until the clock is usable the service is NOT_SERVING: what it would issue is void.
  public func clockChecked(isUsable: Bool) {
    health.clockChecked(isUsable: isUsable)
  }

  /// Says that it will not serve for long, and ends the streams that would keep connections waiting. Call it before the
  /// server asks its clients to leave.
  public func beginDraining() {
    health.drain()
    reflection?.drain()
    watches.drain()
  }
}
