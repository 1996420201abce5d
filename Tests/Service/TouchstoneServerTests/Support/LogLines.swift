// The log of a process under test, whose lines a test awaits.

import Logging
import Synchronization

final class LogLines: Sendable {
  struct Line: Sendable {
    /// "warning".
    var level: String
    /// The message, and then each value as "key=value", in the keys' order.
    var text: String
  }

  private struct State {
    var lines: [Line] = []
    var waiting: (text: String, found: CheckedContinuation<Line, Never>)?
  }

  private let state = Mutex(State())

  var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

  /// All that were logged, and not awaited.
  var lines: [Line] { state.withLock { $0.lines } }

  /// The next line that contains the text. It and those before it are not found again. One test awaits at a time.
  func next(containing text: String) async -> Line {
    await withCheckedContinuation { found in
      let line = state.withLock { state -> Line? in
        guard let index = state.lines.firstIndex(where: { $0.text.contains(text) }) else {
          state.waiting = (text, found)
          return nil
        }
        defer { state.lines.removeFirst(index + 1) }
        return state.lines[index]
      }
      if let line { found.resume(returning: line) }
    }
  }

  fileprivate func append(_ line: Line) {
    let found = state.withLock { state -> CheckedContinuation<Line, Never>? in
      guard let waiting = state.waiting, line.text.contains(waiting.text) else {
        state.lines.append(line)
        return nil
      }
      state.waiting = nil
      state.lines.removeAll()
      return waiting.found
    }
    found?.resume(returning: line)
  }

  private struct Handler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
      lines.append(Line(level: event.level.rawValue, text: "\(event.message)\(values.joined())"))
    }
  }
}
