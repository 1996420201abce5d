// Sends traced calls to the collector. Nothing waits for it: what does not fit into the queue is dropped and counted.

internal import Dispatch
internal import DispatchRPC
internal import Logging
internal import RPCChannel
internal import Synchronization
internal import TouchstoneService
internal import TouchstoneTraces

final class TraceExporter: Sendable {
  /// A collector that takes longer is busy.
  private static let patience = Duration.seconds(10)
  /// The last batch may take so long when the process ends.
  private static let lastPatience = Duration.seconds(1)
  /// Below the calls that it serves.
  private static let userAgent = "touchstone"

  private struct State {
    var spans = SpanQueue()
    var isDown = false
    var hasStopped = false
  }

  private let collector: String
  private let channel: RPCChannel
  private let resource: [TracedCall.Attribute]
  private let logger: Logger
  private let queue = DispatchQueue(label: "touchstone.traces")
  private let state = Mutex(State())
  private let exported = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let unsent = Atomic<Int>(0)

  init(_ settings: TraceSettings, tls: RPCClientTLS?, version: String, logger: Logger) {
    var configuration = RPCChannelConfiguration()
    configuration.maximumConnections = 1
    configuration.connection.userAgent = Self.userAgent
    configuration.connection.tls = tls
    // The queue repeats what was not taken.
    configuration.defaultPolicy = RPCMethodPolicy(timeout: Self.patience, attempts: .once)
    collector = settings.endpoint
    channel = RPCChannel(target: settings.endpoint, configuration: configuration)
    resource = [.init("service.name", .text("touchstone")), .init("service.version", .text(version))]
    self.logger = logger
  }

  struct Statistics {
    var exported: Int
    /// The collector did not take them.
    var refused: Int
    /// There was no room, because the collector was down or slow.
    var overflow: Int
    /// The process ended before.
    var unsent: Int
  }

  /// Spans, since the start.
  var statistics: Statistics {
    Statistics(
      exported: exported.load(ordering: .relaxed), refused: refused.load(ordering: .relaxed),
      overflow: state.withLock { $0.spans.overflow }, unsent: unsent.load(ordering: .relaxed))
  }

  /// From any thread. Encoding and sending happen on another one.
  func add(_ call: TracedCall) {
    perform(state.withLock { $0.hasStopped ? .nothing : $0.spans.add(call) })
  }

  /// Sends what waits, for at most a second.
  func stop(completion: @escaping @Sendable () -> Void) {
    let calls = state.withLock { state -> [TracedCall] in
      state.hasStopped = true
      return state.spans.last()
    }
    guard !calls.isEmpty else { return completion() }
    queue.async { [self] in
      let options = RPCCallOptions(timeout: Self.lastPatience)
      channel.call(ExportMessage.path, ExportMessage.bytes(calls, of: resource), options: options) { [self] result in
        switch result {
        case .success(let answer): count(calls, rejected: ExportMessage.rejectedSpans(in: answer.message))
        case .failure: unsent.add(calls.spanCount, ordering: .relaxed)
        }
        completion()
      }
    }
  }

  private func perform(_ step: SpanQueue.Step) {
    switch step {
    case .nothing: break
    case .wait(let delay):
      queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay.wholeNanoseconds))) { [weak self] in
        guard let self else { return }
        perform(state.withLock { $0.spans.timerFired() })
      }
    case .send(let calls):
      queue.async { [self] in
        channel.call(ExportMessage.path, ExportMessage.bytes(calls, of: resource)) { [weak self] result in
          self?.ended(result, calls)
        }
      }
    }
  }

  private func ended(_ result: Result<RPCResponse, RPCError>, _ calls: [TracedCall]) {
    let outcome: SpanQueue.Outcome
    switch result {
    case .success(let answer):
      outcome = .taken
      count(calls, rejected: ExportMessage.rejectedSpans(in: answer.message))
      note(nil)
    case .failure(let error):
      outcome = error.code.isWorthAnotherTry ? .unavailable : .refused
      if outcome == .refused { refused.add(calls.spanCount, ordering: .relaxed) }
      note(error)
    }
    perform(state.withLock { $0.spans.ended(outcome, jitter: .random(in: -1...1)) })
  }

  private func count(_ calls: [TracedCall], rejected: Int) {
    let sent = calls.spanCount
    let rejected = min(max(0, rejected), sent)
    exported.add(sent - rejected, ordering: .relaxed)
    refused.add(rejected, ordering: .relaxed)
  }

  /// Says once that the collector is gone, and once that it is back.
  private func note(_ error: RPCError?) {
    let hasChanged = state.withLock { state in
      defer { state.isDown = error != nil }
      return state.isDown != (error != nil)
    }
    guard hasChanged else { return }
    if let error {
      logger.warning(
        "traces do not reach the collector; calls go on without",
        metadata: ["collector": "\(collector)", "error": "\(error.code): \(error.message)"])
    } else {
      logger.notice(
        "traces reach the collector again", metadata: ["dropped_spans": "\(state.withLock { $0.spans.overflow })"])
    }
  }
}

extension [TracedCall] {
  fileprivate var spanCount: Int { reduce(0) { $0 + $1.spanCount } }
}

extension RPCCode {
  /// As OTLP's specification lists them; RESOURCE_EXHAUSTED also without RetryInfo.
  fileprivate var isWorthAnotherTry: Bool {
    switch self {
    case .cancelled, .deadlineExceeded, .aborted, .outOfRange, .unavailable, .dataLoss, .resourceExhausted: true
    default: false
    }
  }
}

/// The tracing of one process: what chooses calls, and what sends them.
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
