// How the process ends, so that whoever started it can tell why. The numbers are those of sysexits.h where it has one.

internal import ArgumentParser
internal import DispatchRPC
internal import TouchstoneStore

enum ExitStatus: Int32 {
  static let unprotectedData = unusableKeys

  /// As of `diff`: decision tables expect otherwise than the policies decide.
  case difference = 1
  /// EX_USAGE: as for a flag that there is not.
  case usage = 64
  /// EX_DATAERR: the data directory or the database holds something damaged, or another program's; or a file is no
  /// decision table.
  case corruptData = 65
  /// EX_NOINPUT: a file that was named cannot be read.
  case noInput = 66
  /// EX_UNAVAILABLE: the address cannot be listened on, or nobody answers there; or the database is out of reach.
  case unavailable = 69
  /// EX_CANTCREAT: the data directory or the database cannot be written.
  case unwritableData = 73
  /// EX_TEMPFAIL: another process has the data directory.
  case lockedData = 75
  /// EX_PROTOCOL: the data was written by a newer version, or is to be migrated first.
  case otherSchema = 76
  /// EX_NOPERM: the key files are missing, damaged or readable by others, or others can change the data directory.
  case unusableKeys = 77
  /// EX_CONFIG: the configuration file or a flag makes no sense.
  case badConfiguration = 78
  /// EX_SOFTWARE: the demo got an answer that the rules do not allow.
  case wrongAnswer = 70
}

/// Why the process cannot go on: on stderr, and its exit status.
struct Failure: Error {
  var status: ExitStatus
  /// One for each thing that is wrong.
  var lines: [String]

  init(status: ExitStatus, message: String) {
    self.init(status: status, messages: [message])
  }

  init(status: ExitStatus, messages: [String]) {
    self.status = status
    lines = messages.map { "touchstone: \($0)" }
  }

  /// - Parameter places: "FILE:LINE:COLUMN: MESSAGE" each, as editors take it.
  init(status: ExitStatus, places: [String]) {
    self.status = status
    lines = places
  }
}

extension Failure {
  init(_ error: StoreOpenError) {
    let status: ExitStatus =
      switch error.code {
      case .locked: .lockedData
      case .unwritable: .unwritableData
      case .unprotected: .unprotectedData
      case .unreachable: .unavailable
      case .otherSchema: .otherSchema
      case .corrupt: .corruptData
      }
    self.init(status: status, message: error.message)
  }

  init(_ errors: ConfigurationErrors) {
    self.init(status: .badConfiguration, places: errors.lines)
  }
}

extension Failure {
  /// Of files that the configuration names.
  init(_ error: RPCTLSError) {
    self.init(status: .badConfiguration, message: "tls: \(error)")
  }
}

extension ParsableCommand {
  /// Says what is wrong and ends the process.
  func fail(_ failure: Failure) -> Never {
    for line in failure.lines { printError(line) }
    Self.exit(withError: ExitCode(failure.status.rawValue))
  }
}
