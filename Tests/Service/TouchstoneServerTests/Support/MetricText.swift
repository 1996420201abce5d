// The text of a process's metrics, as a test reads it.

import TestSupport
import Testing

extension TestProcess {
  /// The number of one series; `nil`: there is no such series.
  func number(_ series: String) -> Double? {
    metrics().split(separator: "\n").first { $0.hasPrefix(series + " ") }
      .flatMap { Double($0.dropFirst(series.count + 1)) }
  }

  /// Waits until the series has a number that fits. Nothing tells when a number changes.
  func untilNumber(_ series: String, fits: (Double) -> Bool = { _ in true }) async throws -> Double {
    while true {
      if let number = number(series), fits(number) { return number }
      // Until the test's time limit.
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Expects that Prometheus's own checker finds nothing to say.
  func expectThatPromtoolAccepts(_ text: String, in directory: String) throws {
    let file = directory + "/metrics.txt"
    try File.write(text, to: file)
    let promtool = try ChildProcess(["sh", "-c", "promtool check metrics < \"$0\" 2>&1", file])
    promtool.closeInput()
    let output = String(decoding: promtool.readToEnd(), as: UTF8.self)
    // 127: there is none. deploy/install-packages test
    #expect(promtool.waitUntilExit() == 0 && output.isEmpty, "\(output)")
  }
}
