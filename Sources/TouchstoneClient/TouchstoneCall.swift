internal import RPCChannel

/// A call that was begun, to cancel it.
public struct TouchstoneCall: Sendable {
  /// `nil`: its request could not be encoded, and it has ended.
  let call: RPCChannelCall?

  /// The call ends with CANCELLED, unless it ends otherwise at the same time. The service is told.
  public func cancel() {
    call?.cancel()
  }
}
