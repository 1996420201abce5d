/// The one error of this module's calls, on both sides of the wire: a status other than OK, with its message and
/// trailing metadata.
public struct RPCError: Error, Hashable, Sendable {
  public var code: RPCCode
  /// For people; travels percent-encoded in `grpc-message`. A server sends the first KiB of it.
  public var message: String
  /// Trailing metadata, such as `grpc-status-details-bin`. A server sends what fits into 8 KiB of trailers; the details
  /// are the first that it leaves out.
  public var metadata: Metadata
  /// On the client: how far the call surely did not get.
  public var progress: RPCProgress

  /// The call never reached the application, so that it may be retried whatever it does (gRFC A6, "transparent
  /// retries").
  public var isUnprocessed: Bool { progress <= .unprocessed }

  public init(code: RPCCode, message: String, metadata: Metadata = Metadata(), progress: RPCProgress = .sent) {
    self.code = code
    self.message = message
    self.metadata = metadata
    self.progress = progress
  }
}

/// How far a failed call got, for the decision to try it again.
public enum RPCProgress: Comparable, Hashable, Sendable {
  /// It never left: the connection was closed, going away or full.
  case unsent
  /// It left and was not processed: its stream was refused, or is above the last one of a GOAWAY.
  case unprocessed
  /// The server may have acted on it.
  case sent
  /// The response had begun, so that what tries again would have to take it back.
  case answered
}

extension RPCError: CustomStringConvertible {
  public var description: String {
    message.isEmpty ? code.description : "\(code): \(message)"
  }
}
