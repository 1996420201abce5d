import Testing

@testable import DispatchPool

@Suite struct RequestQueueTests {
  private func at(_ seconds: UInt64) -> MonotonicTime {
    MonotonicTime(nanoseconds: seconds * 1_000_000_000)
  }

  @Test func firstComeFirst() {
    var queue = RequestQueue()
    let ids = (0..<3).map { _ in queue.append(deadline: nil, waitsForReady: false) }
    for id in ids {
      #expect(queue.first?.id == id)
      queue.remove(id)
    }
    #expect(queue.isEmpty)
    #expect(queue.first == nil)
  }

  @Test func whatLeavesFromTheMiddleIsPassedOver() {
    var queue = RequestQueue()
    let ids = (0..<3).map { _ in queue.append(deadline: nil, waitsForReady: false) }
    queue.remove(ids[1])
    queue.remove(ids[0])
    #expect(queue.first?.id == ids[2])
    #expect(queue.count == 1)
  }

  @Test func leavesOnce() {
    var queue = RequestQueue()
    let id = queue.append(deadline: nil, waitsForReady: false)
    let removals = [queue.remove(id), queue.remove(id)]
    #expect(removals == [true, false])
    #expect(queue.count == 0)
  }

  @Test func earliestDeadlineIsOfThoseThatWait() {
    var queue = RequestQueue()
    let first = queue.append(deadline: at(1), waitsForReady: false)
    _ = queue.append(deadline: at(3), waitsForReady: false)
    _ = queue.append(deadline: nil, waitsForReady: false)
    #expect(queue.earliestDeadline == at(1))
    queue.remove(first)
    #expect(queue.earliestDeadline == at(3))
  }

  @Test func removesAllThatMatchInOrder() {
    var queue = RequestQueue()
    let ids = (0..<100).map { queue.append(deadline: at(UInt64($0)), waitsForReady: $0 % 2 == 0) }
    let removed = queue.removeAll { !$0.waitsForReady }
    #expect(removed.map(\.id) == ids.enumerated().filter { $0.offset % 2 == 1 }.map(\.element))
    #expect(queue.count == 50)
    #expect(queue.first?.id == ids[0])
  }

  @Test func aPatientFirstDoesNotHoldTheGapsBehindIt() {
    var queue = RequestQueue()
    let first = queue.append(deadline: nil, waitsForReady: true)
    for _ in 0..<10_000 { queue.remove(queue.append(deadline: nil, waitsForReady: false)) }
    #expect(queue.entries.count < 100)
    #expect(queue.first?.id == first)
  }
}
