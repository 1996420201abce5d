// Many threads count under a contended Mutex, which ThreadSanitizer must understand, and, with the argument `race`, also
// without it, which it must report.

import Dispatch
import Synchronization

final class Counters: @unchecked Sendable {
  // Not Sendable at all: `unguarded` is the planted race.
  let guarded = Mutex(0)
  var unguarded = 0
}

let counters = Counters()
let plantsRace = CommandLine.arguments.contains("race")

DispatchQueue.concurrentPerform(iterations: 4) { _ in
  for _ in 0..<50_000 {
    counters.guarded.withLock { $0 += 1 }
    if plantsRace { counters.unguarded += 1 }
  }
}
print(counters.guarded.withLock { $0 })
