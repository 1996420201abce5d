/// How a client connection behaves: its bounds and times, each with its reason.
public struct RPCClientConfiguration: Sendable {
  /// When and how an idle-looking connection is probed (gRFC A8).
  public struct Keepalive: Hashable, Sendable {
    /// Without a byte from the server. Servers may take offence below 5 minutes unless they permit it.
    public var interval: Duration
    /// For the acknowledgement.
    public var timeout: Duration
    /// Also while no call runs.
    public var withoutCalls: Bool

    public init(
      interval: Duration = .seconds(5 * 60), timeout: Duration = .seconds(20), withoutCalls: Bool = false
    ) {
      self.interval = interval
      self.timeout = timeout
      self.withoutCalls = withoutCalls
    }
  }

  /// `:authority`; the address when `nil`.
  public var authority: String?
  public var userAgent = "dispatch-rpc"
  /// From `connect()` to the server's SETTINGS; gRPC's minimum connect time.
  public var connectTimeout = Duration.seconds(20)
  /// 4 MiB is gRPC's default. A larger response fails its call with RESOURCE_EXHAUSTED.
  public var maxResponseMessageBytes = 4 << 20
  /// The bytes that a server may send on one stream before we take them. For a stream whose messages are not requested,
  /// this is all that is held.
  public var streamWindowBytes = 256 << 10
  /// Per connection: bytes that the server has sent and the callers have not read yet. Beyond it the call that holds
  /// the most fails with RESOURCE_EXHAUSTED. A hundred streams with a full window each, and as much again for messages
  /// in the making.
  public var maxUnreadBytesPerConnection = 64 << 20
  /// Per stream: messages that the server has not taken yet; beyond it the call fails with RESOURCE_EXHAUSTED. One
  /// message may go over it. Only callers that send whatever `isWritable` says get there.
  public var maxBufferedRequestBytesPerStream = 1 << 20
  /// As the server's of the same name.
  public var maxHeaderListBytes = 16 << 10
  public var keepalive: Keepalive?
  /// `nil`: plaintext.
  public var tls: RPCClientTLS?

  public init() {}
}
