// A server's event loop with more calls than it can serve.

import Synchronization

extension ServerLoop {
  /// Handlers that run, and the rounds' length, leave room for another call. A connection's only open stream is refused
  /// last, so that a few connections with many calls refuse no other client. Nothing goes beyond the configuration's
  /// limit, and a connection that resets its streams counts as one with a single call.
  func takesCall(isConnectionsOnlyCall isOnly: Bool) -> Bool {
    let running = runningCalls.load(ordering: .relaxed)
    guard running < configuration.maxRunningCallsPerLoop else { return false }
    if let runningLimit, !runningLimit.takes(running - runningStreams.load(ordering: .relaxed), isOnly) { return false }
    return fitsRound(isOnly)
  }

  /// The handler has answered a unary call. Calls that are answered whatever the load show nothing about it.
  func callAnswered(begun time: MonotonicTime, to route: Int?) {
    if let route, routes[route].isEssential { return }
    runningLimit?.answered(callBegan: time, now: loop.now)
  }

  static func runningLimit(_ configuration: RPCServerConfiguration) -> RunningCallLimit? {
    guard let shedding = configuration.shedding, let target = shedding.handlerTarget else { return nil }
    return RunningCallLimit(
      target: target, interval: shedding.interval, greatestLimit: configuration.maxRunningCallsPerLoop)
  }

  /// Trailers only, with `grpc-retry-pushback-ms` (gRFC A6).
  static func overloadAnswer(_ configuration: RPCServerConfiguration) -> HeaderBlock {
    let error = configuration.overloadError
    var block = HeaderBlock()
    ResponseFields.addHead(to: &block, namingEncodings: false)
    block.add("grpc-status", String(error.code.rawValue))
    block.add("grpc-message") { PercentEncoding.encode(error.message, into: &$0) }
    if let pushback = configuration.retryPushback {
      block.add("grpc-retry-pushback-ms", String(pushback.wholeNanoseconds / 1_000_000))
    }
    block.add(error.metadata, listLimitBytes: ResponseFields.listLimitBytes)
    return block
  }

  private func fitsRound(_ isConnectionsOnlyCall: Bool) -> Bool {
    guard shedder != nil else { return true }
    if !roundEndIsDue {
      roundEndIsDue = true
      loop.needsWrite(self)
    }
    return shedder!.takes(isConnectionsOnlyCall, roundBegan: loop.now, now: .now())
  }
}

/// It writes nothing: that is how it is called at a round's end.
extension ServerLoop: ReadinessHandler {
  func write() {
    roundEndIsDue = false
    shedder?.roundEnded(at: .now())
  }

  func ready(_ readiness: Readiness) {}
  func timerExpired(_ tag: TimerTag) {}
}
