// The windows of a run as CSV (RFC 4180), one line for each.

extension LoadReport {
  package var csv: String {
    let header =
      "start_s,due,answered,succeeded,wrong,failed,timed_out,unfinished,unsent,p50_us,p99_us,max_us"
    let lines = windows.map { window in
      let counts = [
        window.due, window.answered, window.succeeded, window.wrong, window.failed, window.timedOut,
        window.unfinished, window.unsent, window.p50, window.p99, window.maximum,
      ]
      return ([window.start.fixed(1)] + counts.map { "\($0)" }).joined(separator: ",")
    }
    return ([header] + lines).map { $0 + "\r\n" }.joined()
  }
}
