// Why a call failed: the one error of this module's calls, on both sides of the wire.

/// A call's failure: a status other than OK, with its message and trailing metadata.
public struct RPCError: Error, Hashable, Sendable {
  public var code: RPCCode
  /// For people; travels percent-encoded in `grpc-message`. A server sends the first KiB of it.
  public var message: String
  /// Trailing metadata, such as `grpc-status-details-bin`. A server sends what fits into 8 KiB of trailers; the details
  /// are the first that it leaves out.
  public var metadata: Metadata
  /// On the client: the call surely never reached the application (stream refused, above the last stream of a GOAWAY, or
  /// never sent), so that it may be retried whatever it does (gRFC A6, "transparent retries").
  public var isUnprocessed: Bool

  public init(code: RPCCode, message: String, metadata: Metadata = Metadata(), isUnprocessed: Bool = false) {
    self.code = code
    self.message = message
    self.metadata = metadata
    self.isUnprocessed = isUnprocessed
  }
}

extension RPCError: CustomStringConvertible {
  public var description: String {
    message.isEmpty ? code.description : "\(code): \(message)"
  }
}
