internal import RPCChannel

/// A running call, to cancel it.
public struct TouchstoneCall: Sendable {
  /// `nil`: its request could not be encoded, and the call has ended.
  let call: RPCChannelCall?

  /// Ends the call with CANCELLED, unless it ends otherwise at the same time. The service gets the cancellation.
  public func cancel() {
    call?.cancel()
  }
}
