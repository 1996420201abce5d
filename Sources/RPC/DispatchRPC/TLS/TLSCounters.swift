import Synchronization

/// Counts of one side's handshakes.
public struct RPCTLSStatistics: Hashable, Sendable {
  /// With certificates.
  public var full = 0
  /// Resumed from a session, without.
  public var resumed = 0
  /// The peer's certificate was refused, or missing where one is required.
  public var refused = 0
  /// For any other cause: also probes that close.
  public var failed = 0
}

final class TLSCounters: Sendable {
  private let full = Atomic<Int>(0)
  private let resumed = Atomic<Int>(0)
  private let refusals = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)

  func succeeded(isResumed: Bool) {
    if isResumed { resumed.add(1, ordering: .relaxed) } else { full.add(1, ordering: .relaxed) }
  }

  func failed(_ cause: RPCHandshakeFailure.Cause) {
    switch cause {
    case .certificateRefused, .certificateMissing: refusals.add(1, ordering: .relaxed)
    case .other: failures.add(1, ordering: .relaxed)
    }
  }

  var statistics: RPCTLSStatistics {
    RPCTLSStatistics(
      full: full.load(ordering: .relaxed), resumed: resumed.load(ordering: .relaxed),
      refused: refusals.load(ordering: .relaxed), failed: failures.load(ordering: .relaxed))
  }
}
