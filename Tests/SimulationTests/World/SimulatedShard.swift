// A shard of a simulated process: what was posted to it waits, in order, until the world wakes it up.

import TouchstoneService

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class SimulatedShard: CallShard, @unchecked Sendable {
  let index: Int
  private(set) var isCurrent = false
  private var isStopped = false
  private var letters: [@Sendable () -> Void] = []

  init(index: Int) { self.index = index }

  func execute(_ work: @escaping @Sendable () -> Void) { if !isStopped { letters.append(work) } }

  /// Its process is over: what waits is never read, and holds nobody any longer.
  func stop() {
    isStopped = true
    letters = []
  }

  var waitingCount: Int { letters.count }

  /// One wake-up: so many letters together, then what the service does at its end.
  func wakeUp(reading count: Int, atEnd: (SimulatedShard) -> Void) {
    isCurrent = true
    defer { isCurrent = false }
    let read = letters.prefix(count)
    letters.removeFirst(read.count)
    for work in read { work() }
    atEnd(self)
  }
}
