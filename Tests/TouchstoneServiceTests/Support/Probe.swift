// Calls of any kind, by any peer, on the service's methods: one thread, no server.

import DispatchRPC
import Logging
import StoreModel
import Synchronization
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// A service with callers, and the peers that call it.
final class ProbedService {
  let service: TouchstoneService
  let store: MemoryStore
  let clock = TestClock()
  private let methods: MethodTable
  private let shard = ProbeShard()

  init(_ callers: [CallerDefinition]?, store: MemoryStore = MemoryStore()) {
    var configuration = ServiceConfiguration()
    configuration.hashCheaply()
    configuration.callers = callers
    self.store = store
    let clock = clock
    service = TouchstoneService(
      configuration: configuration, store: store, keys: .ephemeral(), shardCount: 1, logger: Logger(label: "test"),
      environment: ServiceEnvironment(
        clock: { clock.now }, verificationThreads: 1, secrets: InlineSecrets(), timer: DispatchTimer()))
    methods = service.methods
  }

  var paths: [String] { methods.paths }

  /// Its code and, where it is refused, the reason.
  func call(_ path: String, by peer: RPCPeer, key: String? = nil, message: [UInt8] = []) -> Probe.Answer {
    call(path, on: ProbedConnection(peer), authorization: key.map { "Bearer \($0)" }, message: message)
  }

  func call(
    _ path: String, on connection: ProbedConnection, authorization: String? = nil, message: [UInt8] = []
  ) -> Probe.Answer {
    // One kind of call after the other, until the method is of it.
    for kind in Kind.allCases {
      let probe = Probe(path: path, connection: connection, authorization: authorization, shard: shard)
      message.withUnsafeBytes { bytes in
        switch kind {
        case .unary: methods.dispatch(probe, bytes)
        case .serverStreaming: _ = methods.open(probe, bytes)
        case .bidirectional: _ = methods.open(probe, nil)
        }
      }
      repeat { service.wakeUpEnded(on: shard) } while shard.runNext()
      let answer = probe.answer.withLock { $0 } ?? .open
      if answer != .failed(.unimplemented, reason: nil) { return answer }
    }
    return .failed(.unimplemented, reason: nil)
  }

  private enum Kind: CaseIterable {
    case unary
    case serverStreaming
    case bidirectional
  }

  var events: [EventDraft] { store.records.events.compactMap(\.event) }
}

/// What calls on one connection have in common.
final class ProbedConnection: Sendable {
  let peer: RPCPeer
  fileprivate let note = Mutex<(any AnyObject & Sendable)?>(nil)

  init(_ peer: RPCPeer) {
    self.peer = peer
  }
}

final class Probe: IncomingCall, IncomingStream {
  enum Answer: Equatable {
    case answered
    /// A stream that waits for more.
    case open
    /// - Parameter reason: ErrorInfo's.
    case failed(RPCCode, reason: String?)

    static func refused(_ refusal: AccessRefusal) -> Answer {
      .failed(refusal.isUnauthenticated ? .unauthenticated : .permissionDenied, reason: refusal.rawValue)
    }

    var isRefused: Bool { AccessRefusal.allCases.contains { self == .refused($0) } }
  }

  let path: String
  let shard: ProbeShard
  let answer = Mutex<Answer?>(nil)
  private let connection: ProbedConnection
  private let authorization: String?

  init(path: String, connection: ProbedConnection, authorization: String?, shard: ProbeShard) {
    self.path = path
    self.connection = connection
    self.authorization = authorization
    self.shard = shard
  }

  var peer: RPCPeer { connection.peer }
  var connectionNote: (any AnyObject & Sendable)? {
    get { connection.note.withLock { $0 } }
    set { connection.note.withLock { $0 = newValue } }
  }

  var isCancelled: Bool { false }
  var isWritable: Bool { true }
  func metadata(_ name: String) -> String? { name == "authorization" ? authorization : nil }
  func accept() {}
  func request(_ count: Int) {}
  func send(_ message: [UInt8]) { end(.answered) }
  func finish() { end(.answered) }
  func onCancel(_ body: @escaping @Sendable () -> Void) {}
  func respond(_ message: [UInt8]) { end(.answered) }
  func fail(_ error: RPCError) { end(.failed(error.code, reason: error.reason)) }

  private func end(_ answer: Answer) {
    self.answer.withLock { $0 = $0 ?? answer }
  }
}

final class ProbeShard: CallShard {
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

extension RPCPeer {
  static let unix = RPCPeer(address: .inProcess)
  static let loopback = RPCPeer(address: address("127.0.0.1"))
  /// In plaintext, over the network.
  static let stranger = RPCPeer(address: address("192.0.2.7"))
  /// Over TLS, without a certificate.
  static let encrypted = RPCPeer(address: address("192.0.2.7"), isEncrypted: true)

  static func certified(
    _ uris: [String] = [], dns: [String] = [], commonName: String? = nil, hasAlternativeNames: Bool = false
  ) -> RPCPeer {
    RPCPeer(
      address: address("192.0.2.7"),
      certificate: RPCPeerCertificate(
        uris: uris, dnsNames: dns, commonName: commonName, hasAlternativeNames: hasAlternativeNames),
      isEncrypted: true)
  }

  static func stranger(at host: String, port: UInt16 = 50_000) -> RPCPeer {
    RPCPeer(address: address(host, port: port))
  }

  private static func address(_ host: String, port: UInt16 = 50_000) -> SocketAddress {
    guard let address = try? SocketAddress.resolve(host: host, port: port).first else {
      preconditionFailure("\(host) is a number")
    }
    return address
  }
}

extension CallerDefinition {
  /// Everything, unless said otherwise.
  init(
    _ name: String, _ certificateName: CertificateName? = nil, keys: [String] = [],
    applications: ApplicationGrant = .all, methods: [MethodGrant] = [.all]
  ) {
    self.init(name: name)
    self.certificateName = certificateName
    self.keys = keys.compactMap { CallerKeyDigest(ofKey: $0) }
    self.applications = applications
    self.methods = methods
  }
}

/// Keys of nobody but tests.
enum TestKey {
  static let shop = CallerKey.make()
  static let bank = CallerKey.make()
  static let unknown = CallerKey.make()
}
