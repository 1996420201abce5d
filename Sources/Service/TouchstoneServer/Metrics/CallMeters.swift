// The calls of one event loop, in gRPC's standard metrics (proposal A66).

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneMetrics

/// Counts on its event loop alone, so that counting needs no locked instruction.
///
/// A status that a method never had has no series: all of them would be some 40,000 lines of text.
final class CallMeters: RPCServerObserver {
  /// One method's calls with one status. One reference, for the way of each call.
  private final class Ended {
    let duration: MetricHistogram
    let sent: MetricHistogram
    let received: MetricHistogram

    init(_ metrics: MetricRegistry, _ method: String, _ status: String) {
      duration = metrics.histogram(.callDuration, method, status, isConfined: true)
      sent = metrics.histogram(.callSentBytes, method, status, isConfined: true)
      received = metrics.histogram(.callReceivedBytes, method, status, isConfined: true)
    }
  }

  /// A66's name for methods that the server does not serve.
  private static let otherMethod = "other"
  private static let statuses = Int(RPCCode.unauthenticated.rawValue) + 1

  private let metrics: MetricRegistry
  private let running: RunningCallCount
  /// Without the slash; the last one is for other methods.
  private let names: [String]
  private let started: [MetricCounter]
  /// By method, then by status.
  private var ended: [Ended?]

  /// - Parameters:
  ///   - paths: the methods in the router's order.
  ///   - running: of this event loop alone.
  init(_ metrics: MetricRegistry, paths: [String], running: RunningCallCount) {
    self.metrics = metrics
    self.running = running
    names = paths.map { String($0.dropFirst()) } + [Self.otherMethod]
    started = names.map { metrics.counter(.callsStarted, $0, isConfined: true) }
    ended = Array(repeating: nil, count: names.count * Self.statuses)
  }

  func callBegan(_ method: Int?) {
    started[method ?? names.count - 1].increment()
    running.change(by: 1)
  }

  func callEnded(_ call: RPCEndedCall) {
    let meters = meters(of: call.method ?? names.count - 1, Int(call.code.rawValue))
    meters.duration.record(call.nanoseconds)
    meters.sent.record(Int64(call.sentBytes))
    meters.received.record(Int64(call.receivedBytes))
    running.change(by: -1)
  }

  private func meters(of method: Int, _ code: Int) -> Ended {
    // gRPC has no other status.
    let code = code < Self.statuses ? code : Int(RPCCode.unknown.rawValue)
    let place = method * Self.statuses + code
    if let known = ended[place] { return known }
    let new = Ended(metrics, names[method], RPCCode(rawValue: UInt8(code)).description)
    ended[place] = new
    return new
  }
}

/// The calls of one event loop that have begun and not ended, those that wait for their turn among them. Changed on the
/// event loop, read on any thread.
final class RunningCallCount: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  /// One thread alone writes, so it needs no locked instruction.
  fileprivate func change(by difference: Int) {
    count.store(count.load(ordering: .relaxed) + difference, ordering: .relaxed)
  }
}
