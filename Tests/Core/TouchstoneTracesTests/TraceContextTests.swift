// The header that callers send, and the ids in it.

import Testing

@testable import TouchstoneTraces

@Suite("Trace contexts")
struct TraceContextTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"

  @Test("A context is what its header says, and its header is what came", arguments: [true, false])
  func reading(isSampled: Bool) throws {
    let text = "00-\(Self.trace)-\(Self.span)-0\(isSampled ? 1 : 0)"
    let context = try #require(TraceContext(traceparent: text))
    #expect(context.traceID.description == Self.trace)
    #expect(context.spanID.description == Self.span)
    #expect(context.isSampled == isSampled)
    #expect(context.traceparent == text)
  }

  @Test("Other flags, and a later version with more behind them")
  func later() throws {
    #expect(try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-ff")).isSampled)
    #expect(try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-02")).isSampled == false)
    #expect(
      try #require(TraceContext(traceparent: "cc-\(Self.trace)-\(Self.span)-01-what the future will be")).isSampled)
  }

  @Test(
    "What is malformed counts as absent",
    arguments: [
      "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-011",
      "ff-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01.more", "0g-\(trace)-\(span)-01", "00_\(trace)-\(span)-01",
      "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-\(span)-01", "00-\(trace)-00f067aa0ba902bG-01",
      "00-\(trace)-\(span)-0x", "00-\(trace.dropLast())é-\(span)-01",
    ])
  func malformed(text: String) {
    #expect(TraceContext(traceparent: text) == nil)
  }

  @Test("Made ids differ, and are the same for a seed")
  func made() {
    var (ids, again, others) = (TraceIDGenerator(seed: 1), TraceIDGenerator(seed: 1), TraceIDGenerator(seed: 2))
    let made = (0..<1_000).map { _ in ids.trace() }
    #expect(Set(made).count == 1_000)
    #expect((0..<1_000).map { _ in again.trace() } == made)
    #expect(Set((0..<1_000).map { _ in others.trace() }).isDisjoint(with: made))
    #expect(made.allSatisfy { $0.description.utf8.count == 32 })
  }
}
