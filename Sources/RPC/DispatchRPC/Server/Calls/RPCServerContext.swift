import Synchronization

/// Why the client no longer waits for a call's answer.
public enum RPCCancellation: Hashable, Sendable {
  /// Its deadline passed; the client was told DEADLINE_EXCEEDED.
  case deadline
  /// The client reset the stream.
  case reset
  case connectionLost
  /// The server ended a stream and told the client why: a message was malformed or too large, or messages were sent
  /// much faster than the client takes them.
  case refused
}

/// The common part of `RPCServerCall` and `RPCServerStream`.
public class RPCServerContext: @unchecked Sendable {
  // Sendable because: the constants are constant, `marks` is atomic, the rest is touched only on the event loop.

  struct Marks: OptionSet {
    let rawValue: UInt8
    /// Some end was taken, by the handler or by the server.
    static let answered = Marks(rawValue: 1)
    /// The handler has answered: it no longer counts as running.
    static let handled = Marks(rawValue: 2)
    static let cancelled = Marks(rawValue: 4)
    /// The handler waits for its turn, and does not count as running.
    static let waiting = Marks(rawValue: 8)
    /// The handler has waited for a turn before.
    static let hasWaited = Marks(rawValue: 16)
  }

  /// From `grpc-timeout`; enforced by the server.
  public final let deadline: MonotonicTime?

  /// True if the handler's present message came compressed. Use it on the event loop only, and before the next message.
  public final internal(set) var messageWasCompressed = false

  final let route: RPCRouter.Route
  final let connection: ServerConnection
  private final let isStreaming: Bool
  private final let encodedMetadata: EncodedMetadata
  private final let marks = Atomic<UInt8>(0)
  /// On the event loop only; `nil` once the call is answered or its stream gone.
  private(set) final var stream: UnsafeMutablePointer<ServerStream>?
  private final var cancelHandler: (@Sendable (RPCCancellation) -> Void)?
  private final var cancellation: RPCCancellation?

  init(
    route: RPCRouter.Route, deadline: MonotonicTime?, metadata: EncodedMetadata, connection: ServerConnection,
    stream: UnsafeMutablePointer<ServerStream>, isStreaming: Bool = false
  ) {
    self.route = route
    self.isStreaming = isStreaming
    self.deadline = deadline
    self.encodedMetadata = metadata
    self.connection = connection
    self.stream = stream
    connection.server.runningCalls.add(1, ordering: .relaxed)
    if isStreaming { connection.server.runningStreams.add(1, ordering: .relaxed) }
  }

  deinit {
    noteHandled(loadMarks())
  }

  /// `/package.Service/Method`.
  public final var path: String { route.path }
  public final var loop: EventLoop { connection.loop }
  public final var peer: RPCPeer { connection.peer }
  /// The application's own object, such as the caller's identity. The connection keeps it until it ends. On the event
  /// loop only.
  public final var connectionNote: (any AnyObject & Sendable)? {
    get {
      loop.assertIsCurrent()
      return connection.note
    }
    set {
      loop.assertIsCurrent()
      connection.note = newValue
    }
  }
  /// The application lets the call in: its connection is a known caller's, see
  /// `RPCServerConfiguration.maxStrangersPerAddress`. On the event loop only.
  ///
  /// - Parameter caller: its connections are counted together (`RPCServerConfiguration.maxConnections`).
  public final func admitted(of caller: String) {
    loop.assertIsCurrent()
    connection.callAdmitted(of: caller)
  }
  /// The caller whose call was admitted first on the connection; `nil`: none yet. From any thread.
  public final var admittedCaller: String? { connection.caller }
  /// Decoded anew each time: keep it rather than ask twice.
  public final var metadata: Metadata { encodedMetadata.decoded() }
  /// The text of this name, which is in lower case: without decoding the rest. Several are joined by ", " (RFC 9110
  /// §5.3).
  public final func metadata(_ name: String) -> String? { encodedMetadata.decoded(name).joined(name) }
  public final var isCancelled: Bool { loadMarks().contains(.cancelled) }

  /// `body` runs once on the event loop when the call is cancelled before it was answered; at once if it already was. A
  /// second one replaces the first.
  public final func onCancel(_ body: @escaping @Sendable (RPCCancellation) -> Void) {
    guard loop.isCurrent else {
      loop.execute { self.onCancel(body) }
      return
    }
    if let cancellation {
      body(cancellation)
    } else if stream != nil {
      cancelHandler = body
    }
  }

  final func loadMarks() -> Marks {
    Marks(rawValue: marks.load(ordering: .acquiring))
  }

  /// The marks before.
  final func mark(_ marks: Marks) -> Marks {
    Marks(rawValue: self.marks.bitwiseOr(marks.rawValue, ordering: .acquiringAndReleasing).oldValue)
  }

  private final func unmark(_ marks: Marks) -> Marks {
    Marks(rawValue: self.marks.bitwiseAnd(~marks.rawValue, ordering: .acquiringAndReleasing).oldValue)
  }

  /// The handler waits for its turn from now on.
  final func noteWaiting() {
    let before = mark([.waiting, .hasWaited])
    guard before.isDisjoint(with: [.handled, .waiting]) else { return }
    connection.server.runningCalls.subtract(1, ordering: .relaxed)
  }

  /// The handler runs again.
  final func noteTurn() {
    let before = unmark(.waiting)
    guard before.contains(.waiting), !before.contains(.handled) else { return }
    connection.server.runningCalls.add(1, ordering: .relaxed)
  }

  final func noteHandled(_ before: Marks) {
    guard before.isDisjoint(with: [.handled, .waiting]) else { return }
    connection.server.runningCalls.subtract(1, ordering: .relaxed)
    if isStreaming { connection.server.runningStreams.subtract(1, ordering: .relaxed) }
  }
}

// MARK: - On the event loop only

extension RPCServerContext {
  /// Ends the call for the server. Returns true if the server must answer, false if the handler's answer is on its way.
  final func expire(_ reason: RPCCancellation) -> Bool {
    guard !mark(.answered).contains(.answered) else { return false }
    cancel(reason)
    return true
  }

  /// The stream is gone, or about to be forgotten. The cancel handler runs outside of nghttp2's callbacks.
  final func cancel(_ reason: RPCCancellation) {
    guard cancellation == nil, stream != nil else { return }
    cancellation = reason
    _ = mark(.cancelled)
    guard let cancelHandler else { return }
    self.cancelHandler = nil
    loop.execute { cancelHandler(reason) }
  }

  final func detach() {
    stream = nil
    cancelHandler = nil
  }
}

/// The data that a server has about a client before the first byte of HTTP/2.
public struct RPCPeer: Hashable, Sendable {
  /// A client of a Unix socket has no address of its own: then it is that of the socket it came by.
  public var address: SocketAddress
  /// Only ever one whose chain was verified up to the authorities configured for clients.
  public var certificate: RPCPeerCertificate?
  /// TLS, and not only a local socket.
  public var isEncrypted: Bool

  public init(address: SocketAddress, certificate: RPCPeerCertificate? = nil, isEncrypted: Bool = false) {
    self.address = address
    self.certificate = certificate
    self.isEncrypted = isEncrypted
  }
}
