// How other threads reach an event loop: letters are put in under a lock and taken out all at once, and one signal stands for many.

import Synchronization

/// A many-to-one queue. It has no bound of its own: running calls bound the answers, and its callers bound the rest.
struct Mailbox<Letter: Sendable>: ~Copyable, Sendable {
  struct State: Sendable {
    var letters: [Letter] = []
    var wakeIsPending = false
  }

  private let state = Mutex(State())

  /// True when the caller has to wake the reader; false when another caller did already.
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
