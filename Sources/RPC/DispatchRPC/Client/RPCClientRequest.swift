/// One unary call to make.
public struct RPCClientRequest: Sendable {
  /// `/package.Service/Method`.
  public var path: String
  public var message: [UInt8]
  public var metadata: Metadata
  /// Sent as `grpc-timeout`; the call fails with DEADLINE_EXCEEDED when it passes. `nil`: never.
  public var deadline: MonotonicTime?

  public init(path: String, message: [UInt8], metadata: Metadata = Metadata(), deadline: MonotonicTime? = nil) {
    self.path = path
    self.message = message
    self.metadata = metadata
    self.deadline = deadline
  }
}

/// A successful answer.
public struct RPCResponse: Hashable, Sendable {
  public var message: [UInt8]
  public var initialMetadata: Metadata
  public var trailingMetadata: Metadata

  public init(message: [UInt8], initialMetadata: Metadata = Metadata(), trailingMetadata: Metadata = Metadata()) {
    self.message = message
    self.initialMetadata = initialMetadata
    self.trailingMetadata = trailingMetadata
  }
}

/// The sizes of one call's messages, as gRPC's proposal A66 measures them: as compressed, without prefixes and frames.
public struct RPCMessageBytes: Hashable, Sendable {
  /// The bytes of the requests that were handed over. 0 if no stream could be opened for the call.
  public var sent: Int
  /// The bytes of the answers that were received. Messages of a stream count once its user has requested them.
  public var received: Int

  public init(sent: Int = 0, received: Int = 0) {
    (self.sent, self.received) = (sent, received)
  }
}

/// The events that a connection reports to its owner, on its event loop. `closed` comes exactly once, as the last
/// event, and before the calls that are lost with the connection fail.
public enum RPCConnectionEvent: Sendable {
  /// The server's SETTINGS are here: calls may start.
  case connected(maxConcurrentStreams: Int)
  case maxConcurrentStreamsChanged(Int)
  /// The server finds that it is probed too often (GOAWAY with "too_many_pings", gRFC A8): the next connection should
  /// probe half as often. `goingAway` follows.
  case tooManyPings
  /// The server sent GOAWAY: running calls end, no more start.
  case goingAway
  case closed(RPCError)
}
