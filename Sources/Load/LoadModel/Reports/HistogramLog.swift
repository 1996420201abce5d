// HdrHistogram's log, which its readers in other languages take.

extension LoadReport {
  /// One line for each window that has calls, by when they were due. Values are in microseconds, the `Interval_Max` in
  /// milliseconds, as HdrHistogram's own tools have it.
  package var histogramLog: String {
    let width = windowSeconds.fixed(3)
    let lines = windows.filter { $0.histogram.count > 0 }.map { window in
      [window.start.fixed(3), width, (Double(window.maximum) / 1e3).fixed(3), window.histogram.encoded]
        .joined(separator: ",")
    }
    return """
      #[Histogram log format version 1.3]
      #[StartTime: \(startedAt.fixed(3)) (seconds since epoch)]
      #[Values are microseconds]
      "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
      \(lines.joined(separator: "\n"))

      """
  }
}
