// An event loop of a simulated process: work that was posted to it waits, in order, until the world lets it run a
// round.

import TouchstoneService

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class SimulatedEventLoop: CallLoop, @unchecked Sendable {
  let index: Int
  private(set) var isCurrent = false
  private var isStopped = false
  private var letters: [@Sendable () -> Void] = []

  init(index: Int) { self.index = index }

  func execute(_ work: @escaping @Sendable () -> Void) { if !isStopped { letters.append(work) } }

  /// Its process is over: the letters that wait are never read, and retain no object any longer.
  func stop() {
    isStopped = true
    letters = []
  }

  var waitingCount: Int { letters.count }

  /// One round: so many letters together, then the service's work at the end of a round.
  func runRound(reading count: Int, atEnd: (SimulatedEventLoop) -> Void) {
    isCurrent = true
    defer { isCurrent = false }
    let read = letters.prefix(count)
    letters.removeFirst(read.count)
    for work in read { work() }
    atEnd(self)
  }
}
