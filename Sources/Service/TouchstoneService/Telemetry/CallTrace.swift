// The calls that are traced: one of them while it runs, and how they are chosen and handed over.

internal import DispatchRPC
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore
package import TouchstoneTraces

/// The parts of a call. Each is a span below the call's.
enum CallPart: String, Sendable {
  /// The request becomes a value.
  case decode
  /// An evaluation or a ticket is opened, which the service sealed earlier.
  case open
  /// Records are read.
  case read
  /// A signature, a secret or an attestation is verified, with the wait for a place.
  case verify
  /// The rules are asked.
  case decide
  /// The changes become durable.
  case commit
}

/// Notes the parts of a call. Few calls have one, so its lock costs nothing that counts. A call that is dropped without
/// an answer is handed over, too.
final class CallTrace: Sendable {
  private struct State {
    var call: TracedCall
    var ids: TraceIDGenerator
    var hasEnded = false
  }

  let id: TraceID
  private let clock: SpanClock
  private let state: Mutex<State>
  private let tracer: CallTracer

  init(_ call: TracedCall, since began: MonotonicTime, ids: TraceIDGenerator, by tracer: CallTracer) {
    id = call.traceID
    clock = SpanClock()
    self.tracer = tracer
    var call = call
    call.begin = clock.time(of: began)
    state = Mutex(State(call: call, ids: ids))
  }

  deinit {
    end(nil)
  }

  static func attributes(ofCall path: String, by caller: Caller) -> [TracedCall.Attribute] {
    let names = path.split(separator: "/", maxSplits: 1)
    return [
      .init("rpc.system", .text("grpc")), .init("rpc.service", .text(String(names.first ?? ""))),
      .init("rpc.method", .text(String(names.last ?? ""))), .init("touchstone.caller", .text(caller.identity)),
    ]
  }

  func add(_ part: CallPart, since began: MonotonicTime) {
    let end = clock.time(of: .now())
    state.withLock { state in
      guard !state.hasEnded, state.call.parts.count < TracedCall.maximumParts else { return }
      let id = state.ids.span()
      state.call.parts.append(.init(part.rawValue, id: id, begin: clock.time(of: began), end: end))
    }
  }

  /// The latest decision of a call counts.
  func note(_ kind: String, in applicationID: String, _ details: [EventDetail]) {
    state.withLock { state in
      state.call.set("touchstone.event", kind)
      if !applicationID.isEmpty { state.call.set("touchstone.application", applicationID) }
      for detail in details where ShownDetails.contain(detail) {
        state.call.set("touchstone.\(detail.key)", detail.value)
      }
    }
  }

  /// The first end counts.
  ///
  /// - Parameter code: `nil`: there was no answer, or the call is a stream.
  func end(_ code: RPCCode?) {
    let now = clock.time(of: .now())
    let ended = state.withLock { state -> TracedCall? in
      guard !state.hasEnded else { return nil }
      state.hasEnded = true
      state.call.end = now
      if let code {
        state.call.isFailure = code.isServersFault
        state.call.attributes.append(.init("rpc.grpc.status_code", .number(Int64(code.rawValue))))
      }
      return state.call
    }
    if let ended { tracer.export(ended) }
  }
}

extension TracedCall {
  fileprivate mutating func set(_ key: String, _ value: String) {
    attributes.removeAll { $0.key == key }
    attributes.append(.init(key, .text(value)))
  }
}

extension RPCCode {
  /// As OpenTelemetry's conventions for gRPC servers have it.
  fileprivate var isServersFault: Bool {
    switch self {
    case .unknown, .deadlineExceeded, .unimplemented, .internalError, .unavailable, .dataLoss: true
    default: false
    }
  }
}

/// Puts points of the monotonic clock on the wall clock, so that a clock that is set meanwhile makes no span negative.
private struct SpanClock: Sendable {
  private let wall: UInt64
  private let monotonic: UInt64

  init() {
    wall = UInt64(max(0, systemTime().microseconds)) * 1_000
    monotonic = MonotonicTime.now().nanoseconds
  }

  func time(of point: MonotonicTime) -> UInt64 {
    wall &+ point.nanoseconds &- monotonic
  }
}

/// A part of a traced call that has begun.
struct OpenPart: Sendable {
  fileprivate let trace: CallTrace
  fileprivate let part: CallPart
  fileprivate let began: MonotonicTime

  func end() {
    trace.add(part, since: began)
  }
}

extension CallExchange {
  /// `nil`: the call is not traced.
  func begin(_ part: CallPart) -> OpenPart? {
    trace.map { OpenPart(trace: $0, part: part, began: .now()) }
  }
}

package final class CallTracer: Sendable {
  private let sampler: Mutex<SpanSampler>
  private let hasShare: SpanSampler
  let export: @Sendable (TracedCall) -> Void
  private let beyondBound = Atomic<Int>(0)

  /// - Parameters:
  ///   - share: of the calls that begin a trace, from 0 to 1.
  ///   - export: takes a call that has ended. It must not wait, and may be called on any thread.
  package init(share: Double, export: @escaping @Sendable (TracedCall) -> Void) {
    let sampler = SpanSampler(share: share)
    hasShare = sampler
    self.sampler = Mutex(sampler)
    self.export = export
  }

  /// Calls that were not traced because there were too many of them.
  package var callsBeyondBound: Int { beyondBound.load(ordering: .relaxed) }

  /// On the call's event loop, once its caller is known: strangers cause no spans. `nil`: the call is not traced.
  func begin(
    _ call: some IncomingContext, of caller: Caller, _ context: LoopContext, since began: MonotonicTime
  ) -> CallTrace? {
    let parent = call.metadata(TraceContext.header).flatMap { TraceContext(traceparent: $0) }
    let id = parent?.traceID ?? context.traceIDs.trace()
    // Most calls take no lock.
    guard parent?.isSampled ?? hasShare.chooses(id) else { return nil }
    switch sampler.withLock({ $0.admit(parent, or: id, at: began.nanoseconds / 1_000_000_000) }) {
    case .traced: break
    case .untraced: return nil
    case .beyondBound:
      beyondBound.add(1, ordering: .relaxed)
      return nil
    }
    var traced = TracedCall(
      traceID: id, id: context.traceIDs.span(), parent: parent?.spanID, name: String(call.path.dropFirst()), begin: 0)
    if parent != nil, let state = call.metadata(TraceContext.stateHeader),
      state.utf8.count <= TraceContext.maximumStateBytes
    {
      traced.state = state
    }
    traced.attributes = CallTrace.attributes(ofCall: call.path, by: caller)
    return CallTrace(traced, since: began, ids: TraceIDGenerator(seed: traced.id.number), by: self)
  }
}
