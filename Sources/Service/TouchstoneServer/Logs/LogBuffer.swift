// The lines that wait for stderr. Pure.

/// A bounded buffer of whole lines. A line that does not fit is dropped and counted.
struct LogBuffer: Sendable {
  /// Some 4,000 lines: a second of decisions on a machine whose stderr stands still. As much again may be in the
  /// writer's hands.
  static let maximumBytes = 1 << 20

  private var bytes: [UInt8] = []
  /// Dropped since the last `take`.
  private var dropped = 0
  /// The writer was told, and has not taken the lines yet.
  private var isAwaited = false

  enum Addition: Equatable {
    /// The writer must be told.
    case first
    case further
    case dropped
  }

  mutating func add(_ line: [UInt8]) -> Addition {
    guard bytes.count + line.count <= Self.maximumBytes else {
      dropped += 1
      return .dropped
    }
    bytes += line
    guard !isAwaited else { return .further }
    isAwaited = true
    return .first
  }

  /// Swaps the lines with an empty buffer, whose memory serves the next ones. Returns how many lines were dropped
  /// before.
  mutating func take(into lines: inout [UInt8]) -> Int {
    lines.removeAll(keepingCapacity: true)
    swap(&lines, &bytes)
    isAwaited = false
    defer { dropped = 0 }
    return dropped
  }
}
