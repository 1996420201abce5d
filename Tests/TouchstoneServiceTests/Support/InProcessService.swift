// The service without a server: one thread, one shard, and a seed instead of chance.

import DispatchRPC
import Logging
import SeededGenerator
import Synchronization
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Calls are answered before `call` returns.
final class InProcessService {
  let service: TouchstoneService
  private let shard = InProcessShard()
  private let methods: MethodTable

  init(seed: UInt64, keys: KeyRing, store: any Store = MemoryStore(), clock: TestClock = TestClock()) {
    var environment = ServiceEnvironment(
      clock: { clock.now }, verificationThreads: 1, secrets: InlineSecrets(), timer: NoTimer())
    environment.randomness = .seeded(seed)
    service = TouchstoneService(
      configuration: ServiceConfiguration(), store: store, keys: keys, shardCount: 1, logger: Logger(label: "test"),
      environment: environment)
    methods = service.methods
  }

  func call<Request: WireMessage, Response: WireMessage>(
    _ method: String, _ request: Request, metadata: [String: String] = [:], answer: Response.Type = Response.self
  ) throws -> Response {
    let call = InProcessCall(path: "/touchstone.v1.\(method)", shard: shard, metadata: metadata)
    try request.encoded().withUnsafeBytes { methods.dispatch(call, $0) }
    repeat { service.wakeUpEnded(on: shard) } while shard.runNext()
    guard let answer = call.answer.withLock({ $0 }) else {
      throw RPCError(code: .internalError, message: "not answered")
    }
    return try Response.decoded(from: answer.get())
  }
}

/// Runs on the caller's thread.
private final class InProcessShard: CallShard {
  private let waiting = Mutex<[@Sendable () -> Void]>([])

  var index: Int { 0 }
  var isCurrent: Bool { true }

  func execute(_ work: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.append(work) }
  }

  /// False where nothing waits.
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

/// With one call at a time, nobody ever waits.
private struct NoTimer: DelayedExecutor {
  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {}
}

private final class InProcessCall: IncomingCall {
  let path: String
  let shard: InProcessShard
  let answer = Mutex<Result<[UInt8], RPCError>?>(nil)
  private let values: [String: String]

  init(path: String, shard: InProcessShard, metadata: [String: String]) {
    self.path = path
    self.shard = shard
    values = metadata
  }

  let peer = RPCPeer(address: .inProcess)
  var isCancelled: Bool { false }

  func metadata(_ name: String) -> String? { values[name] }
  func respond(_ message: [UInt8]) { answer.withLock { $0 = $0 ?? .success(message) } }
  func fail(_ error: RPCError) { answer.withLock { $0 = $0 ?? .failure(error) } }
}

extension SocketAddress {
  /// Of a caller in the same process: as local as can be.
  static let inProcess = (try? unix(path: "/in-process"))!
}

extension Randomness {
  /// The same bytes for the same seed.
  static func seeded(_ seed: UInt64) -> Randomness {
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
