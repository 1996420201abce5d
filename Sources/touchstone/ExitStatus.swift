// How the process ends, so that whoever started it can tell why. The numbers are those of sysexits.h where it has one.

internal import ArgumentParser
internal import TouchstoneStore

enum ExitStatus: Int32 {
  /// EX_USAGE: as for a flag that there is not.
  case usage = 64
  /// EX_DATAERR: the data directory holds something damaged, or another program's.
  case corruptData = 65
  /// EX_UNAVAILABLE: the address cannot be listened on.
  case cannotListen = 69
  /// EX_CANTCREAT: the data directory cannot be written.
  case unwritableData = 73
  /// EX_TEMPFAIL: another process has the data directory.
  case lockedData = 75
  /// EX_PROTOCOL: the data was written by a newer version.
  case newerData = 76
  /// EX_NOPERM: the key files are missing, damaged or readable by others.
  case unusableKeys = 77
  /// EX_CONFIG: the configuration file or a flag makes no sense.
  case badConfiguration = 78
  /// EX_SOFTWARE: the demo got an answer that the rules do not allow.
  case wrongAnswer = 70
}

/// Why the process cannot go on: on stderr, and its exit status.
struct Failure: Error {
  var status: ExitStatus
  /// One line, or one for each thing that is wrong.
  var message: String
}

extension Failure {
  init(_ error: StoreOpenError) {
    message = error.message
    status =
      switch error.code {
      case .locked: .lockedData
      case .unwritable: .unwritableData
      case .otherSchema: .newerData
      case .corrupt: .corruptData
      }
  }
}

extension Failure {
  init(_ errors: ConfigurationErrors) {
    status = .badConfiguration
    message = errors.lines.joined(separator: "\n")
  }

  var lines: [Substring] { message.split(separator: "\n") }
}

extension ParsableCommand {
  /// Says what is wrong and ends the process.
  func fail(_ failure: Failure) -> Never {
    for line in failure.lines { printError("touchstone: \(line)") }
    Self.exit(withError: ExitCode(failure.status.rawValue))
  }
}
