import CoreMetrics
import Synchronization
import RPCLoopback
import Testing

@testable import TouchstoneClient

// The client's metrics, by way of swift-metrics.

/// A backend that counts how often each series was recorded, and sums the sizes of histograms.
private final class CountingMetrics: MetricsFactory {
  private let kept = Mutex<[String: Int]>([:])
  private let sizes = Mutex<[String: Int64]>([:])

  func size(_ series: String) -> Int64 { sizes.withLock { $0[series] ?? 0 } }
  func count(_ series: String) -> Int { kept.withLock { $0[series] ?? 0 } }
  var series: [String] { kept.withLock { $0.keys.sorted() } }

  private func handler(_ label: String, _ dimensions: [(String, String)]) -> Handler {
    Handler(series: label + dimensions.map { " \($0)=\($1)" }.joined()) { [self] series, size in
      kept.withLock { $0[series, default: 0] += 1 }
      sizes.withLock { $0[series, default: 0] += size }
    }
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { handler(label, dimensions) }
  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { NOOPMetricsHandler.instance }
  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { handler(label, dimensions) }
  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    #expect(aggregate)
    return handler(label, dimensions)
  }
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}

  private final class Handler: CounterHandler, TimerHandler, RecorderHandler {
    let series: String
    let note: @Sendable (String, Int64) -> Void

    init(series: String, note: @escaping @Sendable (String, Int64) -> Void) {
      (self.series, self.note) = (series, note)
    }

    func increment(by amount: Int64) { note(series, 0) }
    func reset() {}
    func recordNanoseconds(_ duration: Int64) { note(series, 0) }
    func record(_ value: Int64) { note(series, value) }
    func record(_ value: Double) { Issue.record("sizes are whole numbers") }
  }
}

@Suite struct ClientMetricsTests {
  @Test func callsAndAttemptsAreMeasuredByMethodAndStatus() async throws {
    let service = try Loopback { $0.getBinding() }
    let metrics = CountingMetrics()
    let client = TouchstoneClient(target: service.target) { $0.metrics = metrics }
    for _ in 0..<2 { _ = try await client.bindingID(echoing: "b-1") }
    let method = " grpc_method=touchstone.v1.BindingService/GetBinding grpc_target=\(service.target)"
    #expect(metrics.count("grpc_client_attempt_started_total\(method)") == 2)
    #expect(metrics.count("grpc_client_attempt_duration_seconds\(method) grpc_status=OK") == 2)
    #expect(metrics.count("grpc_client_call_duration_seconds\(method) grpc_status=OK") == 2)
    // "b-1" is a string field: its number, its length, three bytes. The answer has it in a binding.
    let size = "total_compressed_message_size_bytes\(method) grpc_status=OK"
    #expect(metrics.count("grpc_client_attempt_sent_\(size)") == 2)
    #expect(metrics.size("grpc_client_attempt_sent_\(size)") == 2 * 5)
    #expect(metrics.size("grpc_client_attempt_rcvd_\(size)") == 2 * 7)
    _ = try? await client.getProfile(V1.GetProfileRequest())
    #expect(metrics.series.contains { $0.contains("/GetProfile") && $0.hasSuffix("grpc_status=UNIMPLEMENTED") })
    await service.stop()
  }

  @Test func withoutABackendNothingIsMeasured() {
    #expect(ClientMeters(NOOPMetricsHandler.instance, target: "localhost:1") == nil)
  }
}
