// Gathers calls that wait, so that one statement serves several of them.

internal import DispatchPool
internal import Synchronization

struct BatchLimits: Sendable {
  /// Batches under way: one in the server's processor, while another one waits for its disk.
  var underWay = 2
  /// Batches under way, if the latest one takes long: it may wait for a page of a cold database, or for a row.
  var underWayWhileOneIsSlow: Int
  /// Some milliseconds of the server's work.
  var itemsInBatch: Int
  var waiting: Int
}

/// The first call goes at once, and none waits for more to come: a batch is what came while earlier batches were under
/// way.
final class Batcher<Item: Sendable>: Sendable {
  typealias Run = @Sendable ([Item], _ ended: @escaping @Sendable () -> Void) -> Void

  /// A batch that takes this long waits for something other than the processor.
  private static var slowness: Duration { .milliseconds(3) }

  private struct State {
    var waiting: [Item] = []
    var underWay = 0
    var latestBegin = MonotonicTime(nanoseconds: 0)
  }

  private let limits: BatchLimits
  private let state = Mutex(State())

  init(_ limits: BatchLimits) {
    self.limits = limits
  }

  /// False: too many wait.
  ///
  /// - Parameter run: the same each time; calls `ended` once for each batch.
  func add(_ item: Item, run: @escaping Run) -> Bool {
    let (isAccepted, batch) = state.withLock { state -> (Bool, [Item]) in
      guard state.waiting.count < limits.waiting else { return (false, []) }
      state.waiting.append(item)
      return (true, next(&state))
    }
    begin(batch, run)
    return isAccepted
  }

  private func begin(_ batch: [Item], _ run: @escaping Run) {
    guard !batch.isEmpty else { return }
    run(batch) { [self] in
      let batch = state.withLock { state in
        state.underWay -= 1
        return next(&state)
      }
      begin(batch, run)
    }
  }

  /// Empty if nothing waits, or it is not yet its turn.
  private func next(_ state: inout State) -> [Item] {
    guard !state.waiting.isEmpty, state.underWay < limits.underWayWhileOneIsSlow else { return [] }
    let now = MonotonicTime.now()
    guard state.underWay < limits.underWay || now >= state.latestBegin + Self.slowness else { return [] }
    let batch = Array(state.waiting.prefix(limits.itemsInBatch))
    state.waiting.removeFirst(batch.count)
    state.underWay += 1
    state.latestBegin = now
    return batch
  }
}
