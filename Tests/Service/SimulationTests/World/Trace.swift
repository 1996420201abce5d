// The events of a world, line by line: the same for the same seed, to the letter.

/// Holds no random bytes: the signatures of two runs differ.
final class Trace {
  /// Kept only if they are read: a thousand good seeds write no line.
  private(set) var lines: [String] = []
  private let isRecording: Bool

  init(isRecording: Bool) { self.isRecording = isRecording }

  func note(_ line: @autoclosure () -> String) { if isRecording { lines.append(line()) } }
}
