// The pure queue of deadlines.

import TestSupport
import Testing

@testable import EventLoops

@Suite struct DeadlineQueueTests {
  @Test func givesBackInOrderWhatHasExpired() {
    var queue = DeadlineQueue<String>()
    _ = queue.add("third", at: seconds(3))
    _ = queue.add("first", at: seconds(1))
    _ = queue.add("second", at: seconds(2))
    #expect(queue.earliest == seconds(1))
    #expect(queue.popExpired(at: seconds(2)) == "first")
    #expect(queue.popExpired(at: seconds(2)) == "second")
    #expect(queue.popExpired(at: seconds(2)) == nil)
    #expect(queue.popExpired(at: seconds(3)) == "third")
    #expect(queue.isEmpty)
  }

  @Test func aStaleHandleRemovesNothing() {
    var queue = DeadlineQueue<String>()
    let first = queue.add("first", at: seconds(1))
    queue.remove(first)
    _ = queue.add("in the same slot", at: seconds(1))
    queue.remove(first)
    #expect(queue.count == 1)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func agreesWithASortedList(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = DeadlineQueue<Int>()
    var model: [(time: MonotonicTime, payload: Int, handle: DeadlineQueue<Int>.Handle)] = []
    for payload in 0..<2_000 {
      let time = MonotonicTime(nanoseconds: random.next() % 1_000)
      if random.next() % 3 == 0, !model.isEmpty {
        let victim = model.remove(at: Int(random.next() % UInt64(model.count)))
        queue.remove(victim.handle)
      } else {
        model.append((time, payload, queue.add(payload, at: time)))
      }
      #expect(queue.earliest == model.map(\.time).min())
    }
    var popped: [Int] = []
    while let payload = queue.popExpired(at: .distantFuture) { popped.append(payload) }
    let times = Dictionary(uniqueKeysWithValues: model.map { ($0.payload, $0.time) })
    #expect(popped.map { times[$0]! } == model.map(\.time).sorted())
    #expect(Set(popped) == Set(times.keys))
  }
}

private func seconds(_ value: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: value * 1_000_000_000) }
