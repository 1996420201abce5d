// What a run found, for people and for scripts.

internal import Histogram

struct Report {
  let scenario: Scenario
  let connections: Int
  let streams: Int
  let completed: Int
  let errors: Int
  let seconds: Double
  let tally: Tally
  /// Passcodes beside the load, during warm-up, too.
  let typed: (succeeded: Int, failed: Int)

  init(load: Load, tally: Tally, typed: (succeeded: Int, failed: Int)) {
    scenario = load.scenario
    connections = load.connections
    streams = load.streams
    completed = tally.completed
    errors = tally.errors
    let (seconds, attoseconds) = load.duration.components
    self.seconds = Double(seconds) + Double(attoseconds) / 1e18
    self.tally = tally
    self.typed = typed
  }

  /// Per second.
  var rate: Double { Double(completed) / seconds }

  private func microseconds(atPercentile percentile: Double) -> UInt64 {
    tally.latency.totalCount == 0 ? 0 : tally.latency.valueAtPercentile(percentile)
  }

  /// Keys are stable. Times in microseconds, from the phone's first call to the last answer.
  var json: String {
    """
    {"scenario":"\(scenario.rawValue)","connections":\(connections),"streams":\(streams),"completed":\(completed),\
    "errors":\(errors),"seconds":\(seconds),"rate":\(rounded(rate)),"p50_us":\(microseconds(atPercentile: 50)),\
    "p90_us":\(microseconds(atPercentile: 90)),"p99_us":\(microseconds(atPercentile: 99)),\
    "p999_us":\(microseconds(atPercentile: 99.9)),"max_us":\(microseconds(atPercentile: 100)),\
    "passcodes":\(typed.succeeded),"passcode_errors":\(typed.failed)}
    """
  }

  var text: String {
    """
    \(scenario.rawValue): \(connections) connections × \(streams) streams, \(seconds) s
    completed \(completed) (\(rounded(rate)) a second), errors \(errors)
    p50 \(microseconds(atPercentile: 50)) µs, p90 \(microseconds(atPercentile: 90)) µs, \
    p99 \(microseconds(atPercentile: 99)) µs, p99.9 \(microseconds(atPercentile: 99.9)) µs, \
    max \(microseconds(atPercentile: 100)) µs
    passcodes beside it \(typed.succeeded), errors \(typed.failed)
    """
  }

  /// One decimal.
  private func rounded(_ value: Double) -> Double {
    (value * 10).rounded() / 10
  }
}
