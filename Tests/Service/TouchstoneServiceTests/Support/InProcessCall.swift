// Calls to a service in the same process, by a caller that takes as much as a test says.

import DispatchRPC
import Synchronization
import TouchstoneCodec

@testable import TouchstoneService

/// The state that calls on one connection share.
final class InProcessConnection: Sendable {
  let peer: RPCPeer
  private let firstCaller = Mutex<String?>(nil)
  fileprivate let note = Mutex<(any AnyObject & Sendable)?>(nil)

  init(_ peer: RPCPeer) {
    self.peer = peer
  }

  var admittedCaller: String? { firstCaller.withLock { $0 } }

  func admit(_ caller: String) { firstCaller.withLock { $0 = $0 ?? caller } }
}

/// `@unchecked Sendable`: a test uses it on one thread.
final class InProcessCall: IncomingStream, IncomingCall, @unchecked Sendable {
  enum Ending {
    case finished
    case failed(RPCError)
    case cancelled
  }

  let path: String
  let loop: InProcessEventLoop
  var events: MethodTable.StreamEvents = { _ in }
  private(set) var sent: [[UInt8]] = []
  private(set) var initialMetadata = Metadata()
  private(set) var ending: Ending?
  /// The number of messages that the service requested.
  private(set) var requested = 0
  private let connection: InProcessConnection
  private let authorization: String?
  private let room: Int
  private var taken = 0
  private var onCancel: @Sendable (RPCCancellation) -> Void = { _ in }

  init(path: String, loop: InProcessEventLoop, connection: InProcessConnection, key: String?, room: Int) {
    self.path = path
    self.loop = loop
    self.connection = connection
    authorization = key.map { "Bearer \($0)" }
    self.room = room
  }

  var peer: RPCPeer { connection.peer }
  var connectionNote: (any AnyObject & Sendable)? {
    get { connection.note.withLock { $0 } }
    set { connection.note.withLock { $0 = newValue } }
  }

  func admitted(of caller: String) { connection.admit(caller) }
  var admittedCaller: String? { connection.admittedCaller }
  var isCancelled: Bool { if case .cancelled = ending { true } else { false } }
  var isWritable: Bool { ending == nil && sent.count - taken < room }
  func metadata(_ name: String) -> String? { name == "authorization" ? authorization : nil }
  func accept(_ metadata: Metadata) { initialMetadata = metadata }
  func request(_ count: Int) { requested += count }
  func respond(_ message: [UInt8], initialMetadata: Metadata) {
    self.initialMetadata = initialMetadata
    send(message)
  }

  func send(_ message: [UInt8]) {
    if ending == nil { sent.append(message) }
  }

  func finish() { ending = ending ?? .finished }
  func fail(_ error: RPCError) { ending = ending ?? .failed(error) }
  func onConnectionLeaving(_ body: @escaping @Sendable () -> Void) {}
  func onCancel(_ body: @escaping @Sendable (RPCCancellation) -> Void) {
    if isCancelled { body(.reset) } else { onCancel = body }
  }

  // MARK: The caller's side

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
    onCancel(.reset)
  }

  func messages<Message: WireMessage>(_ type: Message.Type = Message.self) throws -> [Message] {
    try sent.map { try Message.decoded(from: $0, limits: .answers) }
  }

  var error: RPCError? { if case .failed(let error) = ending { error } else { nil } }
}
