// The service behind a real server on the loopback interface, and connections to it.

import DispatchRPC
import InMemoryLogging
import Logging
import StoreModel
import Synchronization
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneMetrics
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Ends with the test: the server closes what is left.
final class TestService: Sendable {
  static let applicationID = "com.example.bank"

  let store: MemoryStore
  let clock: TestClock
  let log: InMemoryLogHandler
  let keys: KeyRing
  let service: TouchstoneService
  private let server: RPCServer
  private let connections: [RPCClientConnection]
  private let callCount: CallCount
  /// The bearer key that each call sends.
  private let key: String?
  /// The `traceparent` of each call.
  private let traceparent: String?

  /// - Parameters:
  ///   - keys: shared with another service where both are replicas of one.
  ///   - secrets: where passcodes and gestures are verified; threads of the service's own unless given.
  ///   - timer: Dispatch's unless given.
  ///   - connections: calls take turns on them, and each has an event loop of the server to itself.
  static func start(
    store: MemoryStore = MemoryStore(), clock: TestClock = TestClock(), keys: KeyRing = .ephemeral(),
    secrets: (any SecretExecutor)? = nil, timer: any DelayedExecutor = DispatchTimer(), connections: Int = 1,
    metrics: MetricRegistry = MetricRegistry(), tracer: CallTracer? = nil,
    _ configure: (inout ServiceConfiguration) -> Void = { _ in }
  ) async throws -> TestService {
    var configuration = ServiceConfiguration()
    configuration.hashCheaply()
    configure(&configuration)
    let log = InMemoryLogHandler()
    var environment = ServiceEnvironment(
      verificationThreads: 2, secrets: secrets ?? SecretWorkers(threads: 1), timer: timer)
    environment.clock = { clock.now }
    environment.metrics = metrics
    environment.tracer = tracer
    environment.monotonicClock = { MonotonicTime(nanoseconds: UInt64(clock.now.microseconds) * 1_000) }
    let service = TouchstoneService(
      configuration: configuration, store: store, keys: keys, eventLoopCount: connections,
      logger: Logger(label: "test") { _ in log }, environment: environment)
    let server = RPCServer(configuration: RPCServerConfiguration(eventLoops: connections), router: service.router) {
      service.roundEnded(on: $0)
    }
    let address = try server.listen(host: "127.0.0.1", port: 0)
    var connected: [RPCClientConnection] = []
    for _ in 0..<connections { connected.append(try await connect(to: address)) }
    return TestService(store, clock, log, keys, service, server, connected)
  }

  private init(
    _ store: MemoryStore, _ clock: TestClock, _ log: InMemoryLogHandler, _ keys: KeyRing,
    _ service: TouchstoneService, _ server: RPCServer, _ connections: [RPCClientConnection],
    callCount: CallCount = CallCount(), key: String? = nil, traceparent: String? = nil
  ) {
    self.store = store
    self.clock = clock
    self.log = log
    self.keys = keys
    self.service = service
    self.server = server
    self.connections = connections
    self.callCount = callCount
    self.key = key
    self.traceparent = traceparent
  }

  /// The same service, called with a key.
  func authorized(by key: String) -> TestService {
    TestService(store, clock, log, keys, service, server, connections, callCount: callCount, key: key)
  }

  /// The same service, called within a trace.
  func traced(by traceparent: String) -> TestService {
    TestService(
      store, clock, log, keys, service, server, connections, callCount: callCount, key: key, traceparent: traceparent)
  }

  private static func connect(to address: SocketAddress) async throws -> RPCClientConnection {
    let (events, continuation) = AsyncStream<RPCConnectionEvent>.makeStream()
    let connection = RPCClientConnection(
      address: address, loop: EventLoop(label: "test.client"), configuration: RPCClientConfiguration()
    ) { continuation.yield($0) }
    connection.connect()
    for await event in events {
      guard case .connected = event else { break }
      return connection
    }
    throw RPCError(code: .unavailable, message: "no connection")
  }

  /// - Parameter method: "TokenService/ConsumeToken".
  func call<Request: WireMessage, Response: WireMessage>(
    _ method: String, _ request: Request, language: String? = nil, answer: Response.Type = Response.self
  ) async throws -> Response {
    let number = callCount.next()
    var call = RPCClientRequest(path: "/touchstone.v1.\(method)", message: try request.encoded())
    if let language { call.metadata.append("accept-language", language) }
    if let traceparent { call.metadata.append("traceparent", traceparent) }
    if let key { call.metadata.append("authorization", "Bearer \(key)") }
    let result = await withCheckedContinuation { [call] done in
      connections[number % connections.count].start(call) { done.resume(returning: $0) }
    }
    return try Response.decoded(from: try result.get().message, limits: .answers)
  }

  /// A call with several answers; none comes unasked.
  func open(
    _ method: String, _ request: some WireMessage, events: @escaping @Sendable (RPCClientStreamEvent) -> Void
  ) throws -> RPCClientStream {
    let stream = connections[0].openStream("/touchstone.v1.\(method)") { _, event in events(event) }
    stream.send(try request.encoded())
    stream.finishSending()
    return stream
  }

  func replacePolicies(_ policies: [EvaluationPolicy]) {
    service.replacePolicies(policies)
  }

  func replaceCallers(_ callers: [CallerDefinition]?) {
    service.replaceCallers(callers)
  }

  /// The lines for the operator: all but those of decisions.
  var troubles: [InMemoryLogHandler.Entry] { log.entries.filter { $0.level > .info } }

  var events: [EventDraft] { store.records.events.compactMap(\.event) }
}

/// So that calls take turns on connections.
final class CallCount: Sendable {
  private let count = Atomic<Int>(0)

  func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}

/// Makes the same call many times at once.
func inParallel<Value: Sendable>(
  _ count: Int, _ call: @escaping @Sendable () async throws -> Value
) async throws -> [Value] {
  try await withThrowingTaskGroup(of: Value.self) { group in
    for _ in 0..<count { group.addTask { try await call() } }
    return try await group.reduce(into: []) { $0.append($1) }
  }
}

/// The error of a call that must fail.
func refusal<Value>(
  sourceLocation: SourceLocation = #_sourceLocation, _ call: () async throws -> Value
) async -> RPCError {
  do {
    let answer = try await call()
    Issue.record("expected an error, not \(answer)", sourceLocation: sourceLocation)
  } catch let error as RPCError {
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return RPCError(code: .ok, message: "")
}

extension RPCError {
  /// The fields that BadRequest names.
  var fields: [String] {
    for case .badRequest(let request) in details { return request.fieldViolations.map(\.field) }
    return []
  }

  /// The reason in ErrorInfo.
  var reason: String? {
    for case .errorInfo(let info) in details { return info.reason }
    return nil
  }

  /// The metadata that ErrorInfo has beside the reason.
  var reasonMetadata: [String: String] {
    for case .errorInfo(let info) in details { return info.metadata }
    return [:]
  }

  /// The violations in QuotaFailure.
  var quotas: [RPCDetail.QuotaFailure.Violation] {
    for case .quotaFailure(let failure) in details { return failure.violations }
    return []
  }

  /// The delay in RetryInfo.
  var retryDelay: V1.Duration? {
    for case .retryInfo(let info) in details { return info.retryDelay }
    return nil
  }

  private var details: [RPCDetail.Detail] {
    guard let bytes = metadata.firstBinary("grpc-status-details-bin") else { return [] }
    return (try? RPCDetail.Status.decoded(from: bytes))?.details ?? []
  }
}
