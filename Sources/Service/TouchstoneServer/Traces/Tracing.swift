// The tracing of one process: what chooses calls, and what sends them.

internal import DispatchRPC
internal import Logging
internal import TouchstoneService

struct Tracing: Sendable {
  let tracer: CallTracer
  let exporter: TraceExporter

  /// `nil` without `traces:`.
  init?(_ configuration: ProcessConfiguration, version: String, logger: Logger) throws(Failure) {
    let tls = try configuration.loadTraceAuthorities()
    guard let settings = configuration.traces else { return nil }
    let exporter = TraceExporter(settings, tls: tls, version: version, logger: logger)
    self.exporter = exporter
    tracer = CallTracer(share: settings.sample) { exporter.add($0) }
  }
}
