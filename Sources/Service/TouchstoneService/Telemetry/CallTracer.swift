// Chooses the calls that are traced, and hands them over when they have ended.

internal import DispatchRPC
internal import Synchronization
internal import TouchstonePolicy
package import TouchstoneTraces

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
