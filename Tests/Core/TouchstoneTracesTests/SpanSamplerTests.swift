// Which calls are traced, and how many at most.

import Testing

@testable import TouchstoneTraces

@Suite("Sampling")
struct SpanSamplerTests {
  private static func ids(_ count: Int) -> [TraceID] {
    var ids = TraceIDGenerator(seed: 7)
    return (0..<count).map { _ in ids.trace() }
  }

  private static func parent(isSampled: Bool) -> TraceContext {
    var ids = TraceIDGenerator(seed: 9)
    return TraceContext(traceID: ids.trace(), spanID: ids.span(), isSampled: isSampled)
  }

  @Test("None, some, all of the calls that begin a trace", arguments: [0, 0.01, 0.5, 1])
  func share(of share: Double) {
    let sampler = SpanSampler(share: share)
    let count = Self.ids(100_000).count { sampler.chooses($0) }
    // Six standard deviations.
    let spread = 6 * (100_000 * share * (1 - share)).squareRoot()
    #expect(abs(Double(count) - 100_000 * share) <= spread)
  }

  @Test("The parent's flag decides, whatever the share")
  func parents() {
    var (none, all) = (SpanSampler(share: 0), SpanSampler(share: 1))
    let id = Self.ids(1)[0]
    #expect(none.admit(Self.parent(isSampled: true), or: id, at: 1) == .traced)
    #expect(none.admit(nil, or: id, at: 1) == .untraced)
    #expect(all.admit(Self.parent(isSampled: false), or: id, at: 1) == .untraced)
    #expect(all.admit(nil, or: id, at: 1) == .traced)
  }

  @Test("A caller that has all of its calls sampled is bounded, and takes nothing from the service's own share")
  func bound() {
    var sampler = SpanSampler(share: 1)
    let (parent, id) = (Self.parent(isSampled: true), Self.ids(1)[0])
    for _ in 0..<SpanSampler.callsPerSecond { #expect(sampler.admit(parent, or: id, at: 5) == .traced) }
    #expect(sampler.admit(parent, or: id, at: 5) == .beyondBound)
    #expect(sampler.admit(nil, or: id, at: 5) == .traced)
    // The next second has room again.
    #expect(sampler.admit(parent, or: id, at: 6) == .traced)
  }
}
