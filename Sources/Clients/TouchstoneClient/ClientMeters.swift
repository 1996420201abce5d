internal import CoreMetrics
internal import DispatchRPC
internal import RPCChannel
internal import Synchronization

/// Counts calls and attempts in gRPC's standard metrics (proposal A66), by way of swift-metrics. Which series there are
/// depends on the methods and statuses that the client has seen: the service's methods times gRPC's statuses at most.
final class ClientMeters: RPCChannelObserver {
  private struct Key: Hashable {
    let path: String
    let code: RPCCode

    init(_ path: String, _ code: RPCCode) {
      self.path = path
      // gRPC has no other status, and a server must not make up series.
      self.code = code.rawValue > RPCCode.unauthenticated.rawValue ? .unknown : code
    }
  }

  /// The attempts of one method that ended with one status.
  private struct Attempts {
    let duration: CoreMetrics.Timer
    // Not `Recorder`, which takes all kinds of numbers, and many times as long for that.
    let sent: any RecorderHandler
    let received: any RecorderHandler
  }

  /// Made once, because making one may take a lock of the backend's.
  private struct Made {
    var started: [String: Counter] = [:]
    var attempts: [Key: Attempts] = [:]
    var calls: [Key: CoreMetrics.Timer] = [:]
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

  func attemptEnded(_ path: String, _ code: RPCCode, after time: Duration, _ bytes: RPCMessageBytes) {
    let key = Key(path, code)
    let meters = made.withLock { made in
      if let known = made.attempts[key] { return known }
      let new = attempts(key)
      made.attempts[key] = new
      return new
    }
    meters.duration.recordNanoseconds(time.wholeNanoseconds)
    meters.sent.record(Int64(bytes.sent))
    meters.received.record(Int64(bytes.received))
  }

  func callEnded(_ path: String, _ code: RPCCode, after time: Duration) {
    let key = Key(path, code)
    let calls = made.withLock { made in
      if let known = made.calls[key] { return known }
      let new = timer("grpc_client_call_duration_seconds", key)
      made.calls[key] = new
      return new
    }
    calls.recordNanoseconds(time.wholeNanoseconds)
  }

  private func attempts(_ key: Key) -> Attempts {
    Attempts(
      duration: timer("grpc_client_attempt_duration_seconds", key),
      sent: sizes("grpc_client_attempt_sent_total_compressed_message_size_bytes", key),
      received: sizes("grpc_client_attempt_rcvd_total_compressed_message_size_bytes", key))
  }

  private func timer(_ name: String, _ key: Key) -> CoreMetrics.Timer {
    CoreMetrics.Timer(label: name, dimensions: dimensions(key), factory: factory)
  }

  private func sizes(_ name: String, _ key: Key) -> any RecorderHandler {
    factory.makeRecorder(label: name, dimensions: dimensions(key), aggregate: true)
  }

  private func dimensions(_ key: Key) -> [(String, String)] {
    dimensions(key.path) + [("grpc_status", key.code.description)]
  }

  private func dimensions(_ path: String) -> [(String, String)] {
    [("grpc_method", String(path.dropFirst())), ("grpc_target", target)]
  }
}
