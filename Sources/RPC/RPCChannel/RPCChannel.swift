public import DispatchPool
public import DispatchRPC
internal import Synchronization

/// gRPC's channel: calls to one target over pooled HTTP/2 connections.
///
/// The target is `host:port`, `[IPv6 address]:port`, `dns:///host:port`, `ipv4:address:port`, `ipv6:[address]:port` or
/// `unix:path`; several of one kind are separated by commas (grpc/grpc doc/naming.md).
///
/// It connects at the first call, and again by itself when connections are lost. Make one for a target and keep it.
/// Dropping it closes its connections once no call holds them; `close` is the polite way. Thread-safe.
public final class RPCChannel: Sendable {
  let core: ChannelCore
  let pool: ConnectionPool<ChannelConnection>

  public init(target: String, configuration: RPCChannelConfiguration = RPCChannelConfiguration()) {
    let core = ChannelCore(configuration: configuration)
    let resolution = ChannelResolution(target: target, configuration: configuration)
    let pool = ConnectionPool<ChannelConnection>(configuration: configuration.pool, resolve: { resolution.ask() }) {
      core.makeConnection($0, report: $1)
    }
    resolution.begin { [weak pool] result in
      if let pool { core.resolved(result, for: pool) }
    }
    self.core = core
    self.pool = pool
  }

  /// Connects now instead of at the first call.
  public func connect() {
    pool.start()
  }

  /// A call with one request and one answer.
  ///
  /// - Parameters:
  ///   - path: `/package.Service/Method`.
  ///   - completion: runs once, on an event loop of the channel or on the thread that calls this; it must not block.
  @discardableResult
  public func call(
    _ path: String, _ message: [UInt8], options: RPCCallOptions = RPCCallOptions(),
    completion: @escaping @Sendable (Result<RPCResponse, RPCError>) -> Void
  ) -> RPCChannelCall {
    let call = RPCChannelCall(self, path, message, options)
    call.start(completion)
    return call
  }

  /// As above. Cancelling the task cancels the call, which then throws CANCELLED.
  public func call(
    _ path: String, _ message: [UInt8], options: RPCCallOptions = RPCCallOptions()
  ) async throws(RPCError) -> RPCResponse {
    let call = RPCChannelCall(self, path, message, options)
    let result = await withTaskCancellationHandler {
      // Unsafe only if the completion did not run exactly once; this is on every call's path.
      await withUnsafeContinuation { continuation in
        call.start { continuation.resume(returning: $0) }
      }
    } onCancel: {
      call.cancel()
    }
    return try result.get()
  }

  /// A call with several messages in at least one direction, as `RPCClientConnection.openStream`.
  ///
  /// - Parameter events: one after the other, on an event loop of the channel or, for an end before anything was sent,
  ///   on the thread that learned of it; `.end` is the last and surely comes.
  public func openStream(
    _ path: String, options: RPCCallOptions = RPCCallOptions(), events: @escaping RPCChannelStream.EventHandler
  ) -> RPCChannelStream {
    let stream = RPCChannelStream(self, path, options, events: events)
    stream.start()
    return stream
  }

  /// Lets running calls end, for at most `grace`, then closes the connections. New calls fail with CANCELLED.
  public func close(grace: Duration = .seconds(10), completion: @escaping @Sendable () -> Void) {
    pool.drain(deadline: .now() + grace, completion: completion)
  }

  public func close(grace: Duration = .seconds(10)) async {
    await withCheckedContinuation { continuation in
      close(grace: grace) { continuation.resume() }
    }
  }

  public var statistics: RPCChannelStatistics {
    RPCChannelStatistics(
      connections: pool.statistics, failures: core.counters.failures.load(ordering: .relaxed),
      attempts: core.counters.attempts.load(ordering: .relaxed),
      retries: core.counters.retries.load(ordering: .relaxed))
  }
}

/// A channel at one moment.
public struct RPCChannelStatistics: Sendable, Hashable {
  /// Connections and streams, of all addresses together. A lease is a running attempt at a call.
  public var connections: PoolStatistics
  /// Calls and streams since the start that ended with another status than OK.
  public var failures: Int
  /// Sent since the start, or tried to; with retries and with calls that were sent again since they never arrived.
  public var attempts: Int
  public var retries: Int
}
