// Writes the process's output, each line at once.

internal import Glibc

/// Writes to stdout, for people and scripts. A pipe gets the line at once.
func printLine(_ line: String) {
  write(line, to: STDOUT_FILENO)
}

func printError(_ line: String) {
  write(line, to: STDERR_FILENO)
}

/// "1 row", "2 rows".
func counted(_ count: some BinaryInteger, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// "1 used ticket", for the table used_tickets. A table's name is the plural of what its rows are.
func counted(_ count: some BinaryInteger, rowsOf table: String) -> String {
  counted(count, String(table.dropLast().map { $0 == "_" ? " " : $0 }))
}

/// Bypasses stdio, which would hold the line back if the descriptor is a pipe. A failure cannot be reported anywhere.
private func write(_ line: String, to descriptor: Int32) {
  var bytes = Array((line + "\n").utf8)[...]
  while !bytes.isEmpty {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 || errno == EINTR else { return }
    bytes = bytes.dropFirst(max(0, count))
  }
}
