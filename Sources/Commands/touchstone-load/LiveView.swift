internal import CommandProgram
internal import Glibc
internal import LoadModel
internal import MonotonicClock

/// Shows a run on stderr while it goes on: a view that is drawn anew in a terminal, plain lines elsewhere.
struct LiveView: Sendable {
  private static let terminalInterval = Duration.milliseconds(500)
  private static let plainInterval = Duration.seconds(5)

  private let isTerminal = isatty(STDERR_FILENO) == 1

  /// Draws until the task is cancelled.
  func follow(_ runs: [LaneRun], begin: MonotonicTime, span: Duration) async {
    var height = 0
    while true {
      guard (try? await Task.sleep(for: isTerminal ? Self.terminalInterval : Self.plainInterval)) != nil else { break }
      let elapsed = MonotonicTime.now() - begin
      guard elapsed > .zero, elapsed < span else { continue }
      var ledger = await runs[0].books()
      for run in runs.dropFirst() { ledger.add(await run.books()) }
      let frame = LiveFrame(ledger, elapsed: elapsed)
      if isTerminal {
        write(Self.erasing(height) + frame.lines.joined(separator: "\n") + "\n")
        height = frame.lines.count
      } else {
        write(frame.line + "\n")
      }
    }
    write(Self.erasing(height))
  }

  func note(_ line: String) {
    write(line + "\n")
  }

  /// The lines that were drawn before.
  private static func erasing(_ height: Int) -> String {
    height == 0 ? "" : "\u{1B}[\(height)A\u{1B}[J"
  }

  private func write(_ text: String) {
    Program.write(text, to: STDERR_FILENO)
  }
}
