// Streams of a service without a server: one thread, and a caller who takes as much as a test says.

import DispatchRPC
import Logging
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// A service whose calls are served, as far as they go, before `open` or `begin` returns. Time passes with `timer.fire()`.
final class StreamingService {
  let service: TouchstoneService
  let store: MemoryStore
  let timer = ManualTimer()
  static let now = UnixTime(seconds: 1_700_000_000)
  private let methods: MethodTable
  private let shard = ProbeShard()

  init(
    store: MemoryStore = MemoryStore(), secrets: any SecretExecutor = InlineSecrets(),
    _ configure: (inout ServiceConfiguration) -> Void = { _ in }
  ) {
    var configuration = ServiceConfiguration()
    configuration.hashCheaply()
    configure(&configuration)
    self.store = store
    service = TouchstoneService(
      configuration: configuration, store: store, keys: .ephemeral(), shardCount: 1, logger: Logger(label: "test"),
      environment: ServiceEnvironment(
        clock: { Self.now }, verificationThreads: 1, secrets: secrets, timer: timer))
    methods = service.methods
  }

  /// - Parameters:
  ///   - request: `nil`: a bidirectional call.
  ///   - room: so many messages may wait for the caller.
  ///   - isCancelled: before it is served.
  func open(
    _ path: String, _ request: (any WireMessage)?, room: Int = .max, authorization: String? = nil,
    by peer: RPCPeer? = nil, isCancelled: Bool = false
  ) throws -> TestStream {
    let stream = TestStream(path: path, shard: shard, room: room, authorization: authorization, peer: peer)
    if isCancelled { stream.cancel() }
    if let request {
      stream.events = try request.encoded().withUnsafeBytes { methods.open(stream, $0) }
    } else {
      stream.events = methods.open(stream, nil)
    }
    settle()
    return stream
  }

  /// A unary call, which may wait for something.
  func begin(_ path: String, _ request: some WireMessage, authorization: String? = nil) throws -> TestStream {
    let stream = TestStream(path: path, shard: shard, room: 1, authorization: authorization)
    try request.encoded().withUnsafeBytes { methods.dispatch(stream, $0) }
    settle()
    return stream
  }

  func call<Response: WireMessage>(
    _ path: String, _ request: some WireMessage, answer: Response.Type = Response.self
  ) throws -> Response {
    let stream = try begin(path, request)
    if case .failed(let error) = stream.ending { throw error }
    return try Response.decoded(from: try #require(stream.sent.first))
  }

  /// Everything that waits for the shard runs.
  func settle() {
    repeat { service.wakeUpEnded(on: shard) } while shard.runNext()
  }

  func commit(_ changes: Change..., events: [EventDraft] = []) {
    store.commit(ChangeSet(changes: changes, events: events)) { result in
      guard case .success = result else { preconditionFailure("the store refused what a test relies on: \(result)") }
    }
    settle()
  }
}

/// `@unchecked Sendable`: a test uses it on one thread.
final class TestStream: IncomingStream, IncomingCall, @unchecked Sendable {
  enum Ending {
    case finished
    case failed(RPCError)
    case cancelled
  }

  let path: String
  let shard: ProbeShard
  var events: MethodTable.StreamEvents = { _ in }
  /// Of one call.
  private(set) var sent: [[UInt8]] = []
  private(set) var ending: Ending?
  private(set) var requested = 0
  private let room: Int
  private let authorization: String?
  let peer: RPCPeer
  private var taken = 0
  private var onCancel: @Sendable () -> Void = {}

  /// - Parameter peer: `nil`: one who may show a key, where it does.
  init(path: String, shard: ProbeShard, room: Int, authorization: String?, peer: RPCPeer? = nil) {
    self.path = path
    self.shard = shard
    self.room = room
    self.authorization = authorization
    self.peer = peer ?? (authorization == nil ? .unix : .encrypted)
  }

  var isCancelled: Bool { if case .cancelled = ending { true } else { false } }
  var isWritable: Bool { ending == nil && sent.count - taken < room }
  func metadata(_ name: String) -> String? { name == "authorization" ? authorization : nil }
  func accept() {}
  func request(_ count: Int) { requested += count }
  func respond(_ message: [UInt8]) { send(message) }

  func send(_ message: [UInt8]) {
    if ending == nil { sent.append(message) }
  }

  func finish() { ending = ending ?? .finished }
  func fail(_ error: RPCError) { ending = ending ?? .failed(error) }
  func onCancel(_ body: @escaping @Sendable () -> Void) { if isCancelled { body() } else { onCancel = body } }

  // MARK: What the caller does

  func deliver(_ message: some WireMessage) throws {
    try deliver(message.encoded())
  }

  func deliver(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { events(.message($0)) }
  }

  /// Takes some of what was sent, all unless told.
  func take(_ count: Int = .max) {
    let wasWritable = isWritable
    taken = min(sent.count, count == .max ? .max : taken + count)
    if !wasWritable, isWritable { events(.writable) }
  }

  func cancel() {
    guard ending == nil else { return }
    ending = .cancelled
    onCancel()
  }

  func messages<Message: WireMessage>(_ type: Message.Type = Message.self) throws -> [Message] {
    try sent.map { try Message.decoded(from: $0, limits: .answers) }
  }

  var error: RPCError? { if case .failed(let error) = ending { error } else { nil } }
}
