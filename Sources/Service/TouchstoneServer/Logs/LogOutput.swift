// The log of a process: swift-log's handler in front of the writer.

package import Logging
internal import Glibc
internal import Synchronization
package import TouchstoneService
internal import TouchstoneStore

/// Writes lines to stderr, in the format and from the level on that the configuration names. Logging does not wait for
/// stderr.
package final class LogOutput: Sendable {
  private let style: LogStyle
  private let writer: LogWriter

  package init(_ settings: LogSettings = LogSettings(), descriptor: Int32 = STDERR_FILENO) {
    let style = LogStyle(settings)
    self.style = style
    writer = LogWriter(to: descriptor) { dropped in
      LogLine.bytes(
        "log lines were dropped: what reads stderr is slower than what is logged", .warning,
        ["lines": .stringConvertible(dropped)], at: systemTime(), as: style.format)
    }
  }

  /// Takes effect for the lines that follow.
  package func configure(_ settings: LogSettings) {
    style.set(settings)
  }

  package var logger: Logger { Logger(label: "touchstone") { _ in LogOutputHandler(output: self) } }

  /// Lines that were dropped since the start.
  package var droppedLines: Int { writer.dropped }

  /// Before the process ends. Returns when all lines are written, or after a second.
  package func flush() {
    writer.flush()
  }

  fileprivate var level: Logger.Level { style.level }

  fileprivate func write(_ event: LogEvent, _ metadata: Logger.Metadata) {
    let line = LogLine.bytes(event.message.description, event.level, metadata, at: systemTime(), as: style.format)
    writer.write(line, isUrgent: event.level >= .warning)
  }
}

extension LogOutput: DecisionLog {
  package var takesDecisions: Bool { style.level <= .info }

  package func write(_ kind: String, _ fields: DecisionFields) {
    writer.write(LogLine.bytes(kind, .info, fields, at: systemTime(), as: style.format), isUrgent: false)
  }
}

/// The settings in force. Read for each line, on any thread.
private final class LogStyle: Sendable {
  /// A level's place in `Logger.Level.allCases`.
  private let place: Atomic<Int>
  private let isJSON: Atomic<Bool>

  init(_ settings: LogSettings) {
    place = Atomic(Self.place(of: settings.level))
    isJSON = Atomic(settings.format == .json)
  }

  func set(_ settings: LogSettings) {
    place.store(Self.place(of: settings.level), ordering: .relaxed)
    isJSON.store(settings.format == .json, ordering: .relaxed)
  }

  var level: Logger.Level { Logger.Level.allCases[place.load(ordering: .relaxed)] }
  var format: LogSettings.Format { isJSON.load(ordering: .relaxed) ? .json : .text }

  private static func place(of level: Logger.Level) -> Int {
    Logger.Level.allCases.firstIndex(of: level) ?? 0
  }
}

/// Has no level of its own: all loggers follow the configuration, also when it changes.
private struct LogOutputHandler: LogHandler {
  let output: LogOutput
  var metadata: Logger.Metadata = [:]

  var logLevel: Logger.Level {
    get { output.level }
    set {}
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = event.metadata ?? [:]
    if !metadata.isEmpty { all.merge(metadata) { event, _ in event } }
    if let error = event.error { all["error"] = "\(error)" }
    output.write(event, all)
  }
}
