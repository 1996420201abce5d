// How other threads reach a shard: letters put in under a lock, taken out all at once, one wake-up for many.

import Synchronization

/// A many-to-one queue. It has no bound of its own: answers are bounded by the running calls, and work by whoever posts it.
struct Mailbox<Letter: Sendable>: ~Copyable, Sendable {
  struct State: Sendable {
    var letters: [Letter] = []
    var wakeIsPending = false
  }

  private let state = Mutex(State())

  /// True when the caller has to wake the reader; false when a wake-up is already on its way.
  func post(_ letter: Letter) -> Bool {
    state.withLock { state in
      state.letters.append(letter)
      defer { state.wakeIsPending = true }
      return !state.wakeIsPending
    }
  }

  /// Swaps the letters, oldest first, for the empty array given, whose storage is used again.
  func collect(into letters: inout [Letter]) {
    state.withLock { state in
      swap(&state.letters, &letters)
      state.wakeIsPending = false
    }
  }
}
