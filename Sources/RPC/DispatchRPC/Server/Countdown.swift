// The end of several things.

import Synchronization

/// Runs its completion when it was counted down to zero.
package final class Countdown: Sendable {
  private let remaining: Atomic<Int>
  private let completion: @Sendable () -> Void

  package init(_ count: Int, completion: @escaping @Sendable () -> Void) {
    remaining = Atomic(count)
    self.completion = completion
  }

  package func countDown() {
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { completion() }
  }
}
