internal import Synchronization

/// What a channel's calls came to, counted by all threads.
final class CallCounters: Sendable {
  let calls = Atomic(0)
  let attempts = Atomic(0)
  let retries = Atomic(0)
  let hedges = Atomic(0)
  let failures = Atomic(0)
}
