// What the process says: one line at a time, at once.

internal import Glibc

/// For people and scripts that read stdout; flushed, so that a pipe sees the line when it is written.
func printLine(_ line: String) {
  write(line, to: STDOUT_FILENO)
}

func printError(_ line: String) {
  write(line, to: STDERR_FILENO)
}

/// Past stdio, which would hold the line back where the descriptor is a pipe. Nobody can be told of a failure.
private func write(_ line: String, to descriptor: Int32) {
  var bytes = Array((line + "\n").utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 || errno == EINTR else { return }
    bytes = bytes.dropFirst(max(0, count))
  }
}
