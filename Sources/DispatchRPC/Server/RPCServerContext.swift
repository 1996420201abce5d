// What a handler knows of its call, whichever of the four kinds it is: who calls, until when, and whether anybody waits.

import Synchronization

/// Why nobody waits for a call's answer any more.
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
  // Sendable because: the constants are constant, `marks` is atomic, the rest is touched only on the shard.

  struct Marks: OptionSet {
    let rawValue: UInt8
    /// Some end was taken, by the handler or by the server.
    static let answered = Marks(rawValue: 1)
    /// The handler has answered: it no longer counts as running.
    static let handled = Marks(rawValue: 2)
    static let cancelled = Marks(rawValue: 4)
  }

  /// From `grpc-timeout`; enforced by the server.
  public final let deadline: MonotonicTime?

  /// Whether the message that the handler has been given came compressed. On the shard only, and until the next message.
  public final internal(set) var messageWasCompressed = false

  final let route: RPCRouter.Route
  final let connection: ServerConnection
  private final let isStreaming: Bool
  private final let encodedMetadata: EncodedMetadata
  private final let marks = Atomic<UInt8>(0)
  /// On the shard only; `nil` once the call is answered or its stream gone.
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
  public final var shard: RPCShard { connection.shard }
  public final var peer: RPCPeer { connection.peer }
  /// What the application keeps with the connection, such as who its peer is; gone with it. On the shard only.
  public final var connectionNote: (any AnyObject & Sendable)? {
    get { connection.note }
    set { connection.note = newValue }
  }
  /// The application lets the call in: its connection is a known caller's, see `RPCServerConfiguration.maxStrangersPerAddress`. On the
  /// shard only.
  public final func admitted() {
    connection.callAdmitted()
  }
  /// Decoded anew each time: keep it rather than ask twice.
  public final var metadata: Metadata { encodedMetadata.decoded() }
  /// The first text of this name, which is in lower case: without decoding the rest.
  public final func metadata(_ name: String) -> String? { encodedMetadata.decoded(name).first(name) }
  public final var isCancelled: Bool { loadMarks().contains(.cancelled) }

  /// `body` runs once on the shard when the call is cancelled before it was answered; at once if it already was. A second
  /// one replaces the first.
  public final func onCancel(_ body: @escaping @Sendable (RPCCancellation) -> Void) {
    guard shard.isCurrent else {
      shard.execute { self.onCancel(body) }
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

  final func noteHandled(_ before: Marks) {
    guard !before.contains(.handled) else { return }
    connection.server.runningCalls.subtract(1, ordering: .relaxed)
    if isStreaming { connection.server.runningStreams.subtract(1, ordering: .relaxed) }
  }
}

// MARK: - On the shard only

extension RPCServerContext {
  /// The server ends the call. True when it is for the server to answer; false when the handler's answer is on its way.
  final func expire(_ reason: RPCCancellation) -> Bool {
    guard !mark(.answered).contains(.answered) else { return false }
    cancel(reason)
    return true
  }

  /// The stream is gone, or about to be forgotten. The handler hears of it outside of nghttp2's callbacks.
  final func cancel(_ reason: RPCCancellation) {
    guard cancellation == nil, stream != nil else { return }
    cancellation = reason
    _ = mark(.cancelled)
    guard let cancelHandler else { return }
    self.cancelHandler = nil
    shard.execute { cancelHandler(reason) }
  }

  final func detach() {
    stream = nil
    cancelHandler = nil
  }
}
