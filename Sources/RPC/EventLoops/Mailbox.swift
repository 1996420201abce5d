import Synchronization

/// A many-to-one queue, by which other threads reach an event loop: letters are put in under a lock and taken out all
/// at once, and one signal stands for many. It has no bound of its own: running calls bound the answers, and its
/// callers bound the rest.
struct Mailbox<Letter: Sendable>: ~Copyable, Sendable {
  struct State: Sendable {
    var letters: [Letter] = []
    var readerSleeps = true
  }

  private let state = Mutex(State())

  /// True when the caller has to wake the reader; false when the reader is awake, or another caller wakes it.
  func post(_ letter: Letter) -> Bool {
    state.withLock { state in
      state.letters.append(letter)
      defer { state.readerSleeps = false }
      return state.readerSleeps
    }
  }

  /// Swaps the letters, oldest first, for the empty array given, whose storage is used again.
  func collect(into letters: inout [Letter]) {
    state.withLock { state in
      swap(&state.letters, &letters)
      state.readerSleeps = false
    }
  }

  /// The reader's promise to wait for its waking. False when there are letters, which no caller wakes it for.
  func fallAsleep() -> Bool {
    state.withLock { state in
      state.readerSleeps = state.letters.isEmpty
      return state.readerSleeps
    }
  }
}
