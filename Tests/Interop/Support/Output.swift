// A program's output, and its exit.

import Glibc

/// One line to the standard output, at once, also where that is a pipe.
public func say(_ line: String) {
  write(line, to: STDOUT_FILENO)
}

/// Ends the process with a line to the standard error.
public func quit(_ line: String, exitCode: Int32) -> Never {
  write(line, to: STDERR_FILENO)
  exit(exitCode)
}

private func write(_ line: String, to descriptor: Int32) {
  let bytes = Array("\(line)\n".utf8)
  _ = Glibc.write(descriptor, bytes, bytes.count)
}
