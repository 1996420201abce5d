// The spans that wait for the collector, and the times at which they are sent.

import Testing

@testable import TouchstoneTraces

@Suite("The calls that wait for the collector")
struct SpanQueueTests {
  private static let call: TracedCall = {
    var ids = TraceIDGenerator(seed: 3)
    var call = TracedCall(traceID: ids.trace(), id: ids.span(), parent: nil, name: "S/M", begin: 1)
    call.parts = [.init("decode", id: ids.span(), begin: 1, end: 2)]
    return call
  }()

  @Test("A batch that is not full waits an interval, and goes as one")
  func interval() {
    var queue = SpanQueue()
    #expect(queue.add(Self.call) == .wait(SpanQueue.interval))
    #expect(queue.add(Self.call) == .nothing)
    #expect(queue.timerFired() == .send([Self.call, Self.call]))
    // One at a time.
    #expect(queue.add(Self.call) == .nothing)
    #expect(queue.ended(.taken, jitter: 0) == .wait(SpanQueue.interval))
    #expect(queue.timerFired() == .send([Self.call]))
    #expect(queue.ended(.taken, jitter: 0) == .nothing)
    #expect(queue.isEmpty)
  }

  @Test("A full batch goes at once")
  func full() {
    var queue = SpanQueue()
    let steps = (0..<SpanQueue.callsPerBatch).map { _ in queue.add(Self.call) }
    #expect(steps.last == .send(Array(repeating: Self.call, count: SpanQueue.callsPerBatch)))
  }

  @Test("While the collector is down, memory is bounded, the pauses grow, and nothing is lost that fits")
  func outage() {
    var queue = SpanQueue()
    _ = queue.add(Self.call)
    #expect(queue.timerFired() == .send([Self.call]))
    var pauses: [Duration] = []
    for _ in 0..<7 {
      guard case .wait(let pause) = queue.ended(.unavailable, jitter: 0) else { break }
      pauses.append(pause)
      #expect(queue.add(Self.call) == .nothing)
      guard case .send = queue.timerFired() else { break }
    }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    for _ in 0..<2 * SpanQueue.maximumCalls { _ = queue.add(Self.call) }
    #expect(queue.overflow == 2 * (SpanQueue.maximumCalls + 8))
    #expect(queue.last().count == SpanQueue.maximumCalls)
    #expect(queue.isEmpty)
  }

  @Test("What the collector refuses is not sent again, and the next goes as usual")
  func refused() {
    var queue = SpanQueue()
    _ = queue.add(Self.call)
    _ = queue.timerFired()
    #expect(queue.ended(.refused, jitter: 0) == .nothing)
    #expect(queue.isEmpty)
    #expect(queue.add(Self.call) == .wait(SpanQueue.interval))
  }

  @Test("Pauses differ by a fifth at most")
  func jitter() {
    for (jitter, pause) in [(-1.0, 0.8), (1.0, 1.2)] {
      var queue = SpanQueue()
      _ = queue.add(Self.call)
      _ = queue.timerFired()
      guard case .wait(let waited) = queue.ended(.unavailable, jitter: jitter) else {
        Issue.record("no pause")
        continue
      }
      #expect(abs(waited / .seconds(1) - pause) < 0.001)
    }
  }
}
