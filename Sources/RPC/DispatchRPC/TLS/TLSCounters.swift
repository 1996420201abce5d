// How handshakes went.

import Synchronization

/// Counts of one side's handshakes.
public struct RPCTLSStatistics: Hashable, Sendable {
  /// With certificates.
  public var full = 0
  /// Resumed from a session, without.
  public var resumed = 0
  public var failed = 0
}

final class TLSCounters: Sendable {
  private let full = Atomic<Int>(0)
  private let resumed = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)

  func succeeded(isResumed: Bool) {
    if isResumed { resumed.add(1, ordering: .relaxed) } else { full.add(1, ordering: .relaxed) }
  }

  func failed() {
    failures.add(1, ordering: .relaxed)
  }

  var statistics: RPCTLSStatistics {
    RPCTLSStatistics(
      full: full.load(ordering: .relaxed), resumed: resumed.load(ordering: .relaxed),
      failed: failures.load(ordering: .relaxed))
  }
}
