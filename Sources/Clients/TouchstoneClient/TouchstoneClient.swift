public import Dispatch
public import RPCChannel

/// Calls a Touchstone service over pooled HTTP/2 connections.
///
/// Each RPC is a property that is called like a function, in two forms (``UnaryMethod``):
/// ```swift
/// let answer = try await client.beginEvaluation(request)
/// client.beginEvaluation(request, queue: .main) { result in … }
/// ```
/// Make one client for a service and keep it: it connects at the first call, and again when connections are lost.
/// Dropping it closes its connections once no call holds it; `close` lets running calls end first.
public final class TouchstoneClient: Sendable {
  let channel: RPCChannel
  let configuration: TouchstoneClientConfiguration
  let requestCoder = SharedCoder()
  let responseCoder = SharedCoder(limits: .answers)

  public init(configuration: TouchstoneClientConfiguration) {
    self.configuration = configuration
    channel = RPCChannel(target: configuration.target, configuration: configuration.channel)
  }

  /// Lets running calls end, for at most `grace`, then closes the connections. New calls fail with CANCELLED.
  public func close(grace: Duration = .seconds(10)) async {
    await channel.close(grace: grace)
  }

  public func close(grace: Duration = .seconds(10), queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
    channel.close(grace: grace) { queue.async(execute: completion) }
  }

  /// Counts of connections, calls and retries; also for each of the target's addresses.
  public var statistics: RPCChannelStatistics { channel.statistics }
}
