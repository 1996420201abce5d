// Writes the process's output, each line at once.

internal import CommandProgram
internal import Glibc
internal import TerminalText

/// Writes to stdout, for people and scripts. A pipe gets the line at once. Ends the process if the line cannot be
/// written: a key or an event would be lost, and the command would claim success. A reader that has enough, as `head`,
/// needs no message.
func printLine(_ line: String) {
  let error = Program.write(line + "\n", to: STDOUT_FILENO)
  guard error != 0 else { return }
  if error != EPIPE { printError("touchstone: stdout: cannot be written: \(String(cString: strerror(error)))") }
  Program.end(ExitStatus.unwritableData.rawValue)
}

/// What a line quotes may be a stranger's, such as a file's name: it moves no cursor and turns no text.
func printError(_ line: String) {
  Program.write(printable(line) + "\n", to: STDERR_FILENO)
}

/// "1 row", "2 rows".
func counted(_ count: some BinaryInteger, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// "1 used ticket", for the table used_tickets. A table's name is the plural of what its rows are.
func counted(_ count: some BinaryInteger, rowsOf table: String) -> String {
  counted(count, String(table.dropLast().map { $0 == "_" ? " " : $0 }))
}
