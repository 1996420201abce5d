// The client's calls in gRPC's standard metrics (proposal A66), by way of swift-metrics.

internal import CoreMetrics
internal import DispatchRPC
internal import RPCChannel
internal import Synchronization

/// Counts calls and attempts. Which series there are depends on the methods and statuses that the client has seen: the service's
/// methods times gRPC's statuses at most.
final class ClientMeters: RPCChannelObserver {
  private struct Key: Hashable {
    var name: String
    var path: String
    var code: RPCCode
  }

  /// Made once, because making one may take a lock of the backend's.
  private struct Made {
    var started: [String: Counter] = [:]
    var durations: [Key: CoreMetrics.Timer] = [:]
  }

  private let factory: any MetricsFactory
  private let target: String
  private let made = Mutex(Made())

  /// `nil` without a backend: nothing is measured then.
  init?(_ factory: any MetricsFactory, target: String) {
    if factory is NOOPMetricsHandler { return nil }
    (self.factory, self.target) = (factory, target)
  }

  func attemptBegan(_ path: String) {
    let counter = made.withLock { made in
      if let known = made.started[path] { return known }
      let new = Counter(label: "grpc_client_attempt_started_total", dimensions: dimensions(path), factory: factory)
      made.started[path] = new
      return new
    }
    counter.increment()
  }

  func attemptEnded(_ path: String, _ code: RPCCode, after time: Duration) {
    record(time, "grpc_client_attempt_duration_seconds", path, code)
  }

  func callEnded(_ path: String, _ code: RPCCode, after time: Duration) {
    record(time, "grpc_client_call_duration_seconds", path, code)
  }

  private func record(_ time: Duration, _ name: String, _ path: String, _ code: RPCCode) {
    // gRPC has no other status, and a server must not make up series.
    let key = Key(name: name, path: path, code: code.rawValue > RPCCode.unauthenticated.rawValue ? .unknown : code)
    let timer = made.withLock { made in
      if let known = made.durations[key] { return known }
      let labels = dimensions(path) + [("grpc_status", key.code.description)]
      let new = CoreMetrics.Timer(label: name, dimensions: labels, factory: factory)
      made.durations[key] = new
      return new
    }
    timer.recordNanoseconds(time.wholeNanoseconds)
  }

  private func dimensions(_ path: String) -> [(String, String)] {
    [("grpc_method", String(path.dropFirst())), ("grpc_target", target)]
  }
}
