// The service without a server: one thread, one event loop, and time that passes when a test says so.

import DispatchRPC
import Logging
import StoreModel
import Synchronization
import TestSupport
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneStore

@testable import TouchstoneService

/// Serves each call, as far as it goes, before the function that makes it returns.
final class InProcessService {
  static let version = "1.2.3"

  let service: TouchstoneService
  let store: MemoryStore
  let clock = TestClock()
  let timer = ManualTimer()
  private let methods: MethodTable
  private let loop = InProcessEventLoop()

  /// - Parameter seed: `nil`: the system's randomness.
  init(
    store: MemoryStore = MemoryStore(), keys: KeyRing = .ephemeral(), seed: UInt64? = nil,
    secrets: any SecretExecutor = InlineSecrets(), _ configure: (inout ServiceConfiguration) -> Void = { _ in }
  ) {
    var configuration = ServiceConfiguration()
    configuration.hashCheaply()
    configure(&configuration)
    self.store = store
    let clock = clock
    var environment = ServiceEnvironment(verificationThreads: 1, secrets: secrets, timer: timer)
    environment.clock = { clock.now }
    if let seed { environment.randomness = .seeded(seed) }
    environment.version = Self.version
    service = TouchstoneService(
      configuration: configuration, store: store, keys: keys, eventLoopCount: 1, logger: Logger(label: "test"),
      environment: environment)
    methods = service.methods
  }

  /// Begins a call of the kind that the method is.
  ///
  /// - Parameters:
  ///   - message: the request; none in a bidirectional call, whose messages `InProcessCall.deliver` sends.
  ///   - room: the number of answers that may wait for the caller.
  ///   - isCancelled: before it is served.
  func begin(
    _ path: String, message: [UInt8] = [], on connection: InProcessConnection, key: String? = nil,
    room: Int = .max, isCancelled: Bool = false
  ) -> InProcessCall {
    let call = InProcessCall(path: path, loop: loop, connection: connection, key: key, room: room)
    if isCancelled { call.cancel() }
    message.withUnsafeBytes { bytes in
      switch MethodDescriptor.all.first(where: { $0.path == path })?.kind {
      case .serverStreaming: call.events = methods.open(call, bytes)
      case .bidirectional: call.events = methods.open(call, nil)
      case .unary, .clientStreaming, nil: methods.dispatch(call, bytes)
      }
    }
    settle()
    return call
  }

  /// - Parameter peer: `nil`: one that may show the key, if there is one.
  func begin(
    _ path: String, _ request: (any WireMessage)? = nil, by peer: RPCPeer? = nil, key: String? = nil,
    room: Int = .max, isCancelled: Bool = false
  ) throws -> InProcessCall {
    let connection = InProcessConnection(peer ?? (key == nil ? .unix : .encrypted))
    return begin(
      path, message: try request?.encoded() ?? [], on: connection, key: key, room: room, isCancelled: isCancelled)
  }

  /// Does what a transport does before it reads a unary call's message.
  func checkCaller(_ path: String, key: String?) -> (isAdmitted: Bool, error: RPCError?) {
    let call = InProcessCall(
      path: path, loop: loop, connection: InProcessConnection(.encrypted), key: key, room: .max)
    let isAdmitted = service.admits(call)
    settle()
    return (isAdmitted, call.error)
  }

  /// Returns the one answer of a unary call.
  func call<Response: WireMessage>(
    _ path: String, _ request: some WireMessage, answer: Response.Type = Response.self
  ) throws -> Response {
    let call = try begin(path, request)
    if let error = call.error { throw error }
    return try Response.decoded(from: try #require(call.sent.first))
  }

  /// Runs everything that waits for the event loop.
  func settle() {
    repeat { service.roundEnded(on: loop) } while loop.runNext()
  }

  /// Lets the store do the work that it holds, until there is none or `isDone`. Returns how much it did.
  @discardableResult
  func go(_ work: MemoryStore.HeldWork, until isDone: () -> Bool = { false }) -> Int {
    var count = 0
    while !isDone(), store.go(work) {
      settle()
      count += 1
    }
    return count
  }

  func commit(_ changes: Change..., events: [EventDraft] = []) {
    store.commit(ChangeSet(changes: changes, events: events)) { result in
      guard case .success = result else { preconditionFailure("the store refused what a test relies on: \(result)") }
    }
    settle()
  }

  var events: [EventDraft] { store.records.events.compactMap(\.event) }
}

/// Runs on the caller's thread.
final class InProcessEventLoop: CallLoop {
  private let waiting = Mutex<[@Sendable () -> Void]>([])

  var index: Int { 0 }
  var isCurrent: Bool { true }

  func execute(_ work: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.append(work) }
  }

  /// Returns false if nothing waits.
  func runNext() -> Bool {
    guard let work = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
    work()
    return true
  }
}

/// Hashes before `run` returns.
struct InlineSecrets: SecretExecutor {
  let threads = 1
  func run(_ work: @escaping @Sendable () -> Void) { work() }
}

extension Randomness {
  /// The same bytes for the same seed.
  fileprivate static func seeded(_ seed: UInt64) -> Randomness {
    let chance = SharedChance(seed: seed)
    return Randomness { count in chance.bytes(count) }
  }
}

private final class SharedChance: Sendable {
  private let generator: Mutex<SeededGenerator>

  init(seed: UInt64) {
    generator = Mutex(SeededGenerator(seed: seed))
  }

  func bytes(_ count: Int) -> [UInt8] {
    generator.withLock { generator in (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) } }
  }
}
