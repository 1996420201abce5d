/// Which calls are traced: a part of the calls that begin a trace, and the calls whose caller keeps its trace; of
/// either no more than a bound. Pure.
package struct SpanSampler: Sendable {
  /// So many calls of each kind are traced in a second, at most. A traced call costs some 15 µs with its export, so a
  /// caller that has all of its calls sampled takes at most 1.5 % of a core.
  package static let callsPerSecond = 1_000

  /// The random bits of a trace's id (Trace Context, level 2).
  private static let randomBits: UInt64 = 56

  private let threshold: UInt64
  private var own = CallBudget()
  private var parents = CallBudget()

  package enum Verdict: Equatable, Sendable {
    case traced
    case untraced
    /// It would have been traced, but for the bound.
    case beyondBound
  }

  /// - Parameter share: of the calls that begin a trace, from 0 to 1.
  package init(share: Double) {
    threshold = UInt64(min(max(share, 0), 1) * Double(1 << Self.randomBits))
  }

  /// Whether a call that begins a trace is one of the share. Other services with the same share choose the same traces.
  package func chooses(_ id: TraceID) -> Bool {
    id.low & (1 << Self.randomBits - 1) < threshold
  }

  /// - Parameters:
  ///   - parent: what the caller sent; `nil`: nothing.
  ///   - id: of the new trace, if there is no parent.
  ///   - second: of a clock that does not go back.
  package mutating func admit(_ parent: TraceContext?, or id: TraceID, at second: UInt64) -> Verdict {
    guard let parent else {
      return chooses(id) ? own.take(at: second) : .untraced
    }
    return parent.isSampled ? parents.take(at: second) : .untraced
  }
}

private struct CallBudget: Sendable {
  private var second: UInt64 = 0
  private var taken = 0

  mutating func take(at now: UInt64) -> SpanSampler.Verdict {
    if now != second { (second, taken) = (now, 0) }
    guard taken < SpanSampler.callsPerSecond else { return .beyondBound }
    taken += 1
    return .traced
  }
}
