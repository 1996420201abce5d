// The client of a Touchstone service: `let answer = try await client.beginEvaluation(request)`.

public import Dispatch
internal import DispatchPool

/// Calls a Touchstone service over pooled HTTP/2 connections.
///
/// Each RPC is a property that is called like a function, in two forms (``UnaryMethod``):
/// ```swift
/// let answer = try await client.beginEvaluation(request)
/// client.beginEvaluation(request, queue: .main) { result in … }
/// ```
/// Make one client for a service and keep it: it connects at the first call, and again by itself when connections are lost.
/// Dropping it closes its connections once no call holds it; `close` is the polite way.
public final class TouchstoneClient: Sendable {
  let pool: ConnectionPool<PeerConnection>
  let configuration: TouchstoneClientConfiguration
  let requestCoder = SharedCoder()
  let responseCoder = SharedCoder(limits: .answers)

  public init(configuration: TouchstoneClientConfiguration) {
    let factory = PeerConnectionFactory(target: configuration.target, eventLoops: configuration.eventLoops)
    self.configuration = configuration
    self.pool = ConnectionPool(configuration: configuration.pool) { _, report in
      factory.makeConnection(report: report)
    }
  }

  /// Lets running calls end, for at most `grace`, then closes the connections. New calls fail with CANCELLED.
  public func close(grace: Duration = .seconds(10)) async {
    await withCheckedContinuation { continuation in
      pool.drain(deadline: .now() + grace) { continuation.resume() }
    }
  }

  public func close(grace: Duration = .seconds(10), queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
    pool.drain(deadline: .now() + grace) { queue.async(execute: completion) }
  }
}
