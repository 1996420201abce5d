internal import Synchronization

/// The counts of a channel's calls, to which all threads add.
final class CallCounters: Sendable {
  let attempts = Atomic(0)
  let retries = Atomic(0)
  let failures = Atomic(0)
}
