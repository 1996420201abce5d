// A run at one moment, as a live view shows it.

package struct LiveFrame: Sendable {
  private let counts: CallCounts
  private let latencies: LatencyHistogram
  private let elapsed: Duration
  private let remaining: Duration
  /// Successes per second, the latest last.
  private let goodput: [Double]
  private let rate: Double

  private static let sparks = Array("▁▂▃▄▅▆▇█")
  private static let sparkCount = 40

  /// - Parameter ledger: the ledger of a run that goes on.
  package init(_ ledger: CallLedger, elapsed: Duration) {
    counts = ledger.counts
    latencies = ledger.latencies
    self.elapsed = elapsed
    remaining = max(.zero, ledger.span - elapsed)
    let width = ledger.windowWidth
    let complete = ledger.windows.prefix(min(elapsed.bin(of: width), ledger.windows.count))
    goodput = complete.suffix(Self.sparkCount).map { Double($0.answered) / width.inSeconds }
    let due = complete.suffix(10)
    rate = due.isEmpty ? 0 : Double(due.reduce(0) { $0 + $1.counts.due }) / (width.inSeconds * Double(due.count))
  }

  private var recentGoodput: Double {
    let recent = goodput.suffix(10)
    return recent.isEmpty ? 0 : recent.reduce(0, +) / Double(recent.count)
  }

  /// Without the calls in flight, which may still succeed.
  private var errors: Int { counts.wrong + counts.failed + counts.timedOut }
  private var pending: Int { counts.due - counts.succeeded - errors }

  private var percentiles: String {
    [("p50", 50.0), ("p90", 90), ("p99", 99), ("p99.9", 99.9)]
      .map { "\($0.0) \(latencies.percentile($0.1).asTime)" }.joined(separator: "  ")
  }

  package var lines: [String] {
    [
      "due \(rate.fixed(0))/s  answered \(recentGoodput.fixed(0))/s  errors \(errors.grouped)  in flight \(pending.grouped)",
      "\(percentiles)  max \(latencies.maximum.asTime)",
      "\(sparkline)  \(remaining.inSeconds.fixed(0)) s left",
    ]
  }

  package var line: String {
    "\(elapsed.inSeconds.fixed(0)) s: due \(rate.fixed(0))/s, answered \(recentGoodput.fixed(0))/s, errors \(errors.grouped), "
      + "in flight \(pending.grouped), p50 \(latencies.percentile(50).asTime), p99 \(latencies.percentile(99).asTime)"
  }

  package var sparkline: String {
    let highest = max(goodput.max() ?? 0, .leastNormalMagnitude)
    return String(
      goodput.map { Self.sparks[min(Self.sparks.count - 1, Int($0 / highest * Double(Self.sparks.count)))] })
  }
}
