// Code that ThreadSanitizer must understand: many threads that count under contended Mutexes, and continuations that
// are resumed before their task waits. With the argument `race` the threads also count without a lock, which it must
// report.

import Dispatch
import Synchronization

final class Counters: @unchecked Sendable {
  // Not Sendable at all: `unguarded` is the planted race.
  let guarded = Mutex(0)
  let tried = Mutex(0)
  var unguarded = 0
}

let counters = Counters()
let plantsRace = CommandLine.arguments.contains("race")

DispatchQueue.concurrentPerform(iterations: 4) { _ in
  for _ in 0..<50_000 {
    counters.guarded.withLock { $0 += 1 }
    while counters.tried.withLockIfAvailable({ $0 += 1 }) == nil {}
    if plantsRace { counters.unguarded += 1 }
  }
}
/// Made by one thread and read by another.
final class Letter: Sendable {
  let words: [Int]
  init(_ words: [Int]) { self.words = words }
}

/// Relaxed, so that nothing but the continuation orders the threads.
let resumed = Atomic(0)
var read = 0
for number in 1...200 {
  let letter = await withUnsafeContinuation { continuation in
    DispatchQueue.global().async {
      continuation.resume(returning: Letter([number]))
      resumed.store(number, ordering: .relaxed)
    }
    while resumed.load(ordering: .relaxed) < number {}
  }
  read += letter.words.count
}
print(read)
print(counters.guarded.withLock { $0 }, counters.tried.withLock { $0 })
