// The exit statuses, which say why the process ended. The numbers are those of sysexits.h where it has one.

internal import ArgumentParser
internal import CommandProgram
internal import TouchstoneServer

enum ExitStatus: Int32 {
  /// As with `diff`: the policies decide otherwise than decision tables expect.
  case difference = 1
  /// EX_USAGE: as for an unknown flag.
  case usage = 64
  /// EX_DATAERR
  case corruptData = 65
  /// EX_NOINPUT
  case noInput = 66
  /// EX_UNAVAILABLE
  case unavailable = 69
  /// EX_SOFTWARE: the demo got an answer that the rules do not allow.
  case wrongAnswer = 70
  /// EX_CANTCREAT
  case unwritableData = 73
  /// EX_TEMPFAIL: another process has the data, or the service is too busy.
  case lockedData = 75
  /// EX_PROTOCOL
  case otherSchema = 76
  /// EX_NOPERM: keys or data that others can read or change, or a service that refuses the caller.
  case unprotected = 77
  /// EX_CONFIG
  case badConfiguration = 78

  init(_ kind: Failure.Kind) {
    self =
      switch kind {
      case .usage: .usage
      case .corruptData: .corruptData
      case .noInput: .noInput
      case .unavailable: .unavailable
      case .unwritableData: .unwritableData
      case .lockedData: .lockedData
      case .otherSchema: .otherSchema
      case .unprotectedData, .unusableKeys: .unprotected
      case .badConfiguration: .badConfiguration
      }
  }
}

/// A command whose failure decides the exit status.
protocol FallibleCommand: ParsableCommand {
  func perform() throws(Failure)
}

extension FallibleCommand {
  func run() throws {
    do throws(Failure) {
      try perform()
    } catch {
      fail(error)
    }
  }
}

extension ParsableCommand {
  /// Prints the failure and ends the process.
  func fail(_ failure: Failure) -> Never {
    for line in failure.lines { printError(line) }
    Program.end(ExitStatus(failure.kind).rawValue)
  }
}
