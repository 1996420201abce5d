import Synchronization
import TestSupport
import Testing

@testable import TouchstoneStorePostgres

/// Calls that come while earlier batches are under way go together, in order, and each once.
struct BatcherTests {
  /// Batches that do not end by themselves.
  private final class Recorder: Sendable {
    private let batches = Mutex<[(items: [Int], ended: @Sendable () -> Void)]>([])

    var items: [[Int]] { batches.withLock { $0.map(\.items) } }

    func run(_ items: [Int], _ ended: @escaping @Sendable () -> Void) { batches.withLock { $0.append((items, ended)) } }

    func end(_ number: Int) { batches.withLock { $0[number].ended }() }
  }

  private static func batcher(underWay: Int = 1, items: Int = 10, waiting: Int = 100) -> Batcher<Int> {
    Batcher(BatchLimits(underWay: underWay, underWayWhileOneIsSlow: underWay, itemsInBatch: items, waiting: waiting))
  }

  @Test func theFirstGoesAtOnceAndTheOthersTogether() {
    let recorder = Recorder()
    let batcher = Self.batcher()
    for item in 0..<4 { #expect(batcher.add(item, run: recorder.run)) }
    #expect(recorder.items == [[0]])
    recorder.end(0)
    #expect(recorder.items == [[0], [1, 2, 3]])
    recorder.end(1)
    #expect(batcher.add(4, run: recorder.run))
    #expect(recorder.items == [[0], [1, 2, 3], [4]])
  }

  @Test func aBatchHasABound() {
    let recorder = Recorder()
    let batcher = Self.batcher(underWay: 2, items: 3)
    for item in 0..<8 { #expect(batcher.add(item, run: recorder.run)) }
    recorder.end(1)
    recorder.end(0)
    #expect(recorder.items == [[0], [1], [2, 3, 4], [5, 6, 7]])
  }

  @Test func whatIsTooMuchIsRefused() {
    let recorder = Recorder()
    let batcher = Self.batcher(waiting: 2)
    #expect([0, 1, 2, 3, 4].map { batcher.add($0, run: recorder.run) } == [true, true, true, false, false])
    recorder.end(0)
    #expect(recorder.items == [[0], [1, 2]])
    #expect(batcher.add(5, run: recorder.run))
  }

  /// It may wait for a row or for a page of the disk.
  @Test func aSlowBatchDoesNotHoldTheNextOne() async throws {
    let recorder = Recorder()
    let batcher = Batcher<Int>(
      BatchLimits(underWay: 1, underWayWhileOneIsSlow: 2, itemsInBatch: 10, waiting: 100_000))
    #expect(batcher.add(0, run: recorder.run))
    var item = 0
    try await eventually {
      item += 1
      #expect(batcher.add(item, run: recorder.run))
      return recorder.items.count > 1
    }
    #expect(recorder.items[1].first == 1)
  }
}
