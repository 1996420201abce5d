// Why an admin command did not do what it was called for.

internal import ArgumentParser
internal import CommandProgram
internal import Glibc
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneServer

struct AdminFailure: Error {
  let exitCode: Int32
  let lines: [String]

  init(exitCode: Int32, lines: [String]) {
    self.exitCode = exitCode
    self.lines = lines
  }

  init(_ status: ExitStatus, _ message: String) {
    self.init(exitCode: status.rawValue, lines: ["touchstone: \(message)"])
  }

  init(_ failure: Failure) {
    self.init(exitCode: ExitStatus(failure.kind).rawValue, lines: failure.lines)
  }

  /// The service refused a call, or did not get it.
  ///
  /// - Parameter isEncrypted: the call went over TLS.
  init(_ error: TouchstoneError, at target: String, isEncrypted: Bool) {
    let fields = error.fieldViolations.map {
      "touchstone: \(printable(Self.optionName(of: $0.field))) \(printable($0.description))"
    }
    let name = [error.code.description, error.reason].compactMap(\.self).joined(separator: ", ")
    let message = "\(printable(error.message)) (\(printable(name)))"
    let line =
      switch error.code {
      case .unavailable, .deadlineExceeded:
        "\(printable(target)) does not answer: \(message)"
          + (isEncrypted ? "" : "; if the service expects TLS, say --tls")
      case .unimplemented: "\(printable(target)) is no service that this version can call: \(message)"
      // The client itself says so, too: it sends no key in plaintext to another machine.
      case .unauthenticated: "no valid credentials for \(printable(target)), see --key-file and --tls: \(message)"
      default: message
      }
    // The message repeats the fields.
    self.init(exitCode: error.code.exitCode, lines: fields.isEmpty ? ["touchstone: \(line)"] : fields)
  }

  /// A request's field as it was typed: "--kind" for "filter.kinds[0]".
  private static func optionName(of field: String) -> String {
    options.first { field.hasPrefix($0.field) }?.name ?? field
  }

  private static let options: [(field: String, name: String)] = [
    ("filter.application_id", "the application"), ("filter.profile_id", "the profile"), ("filter.kinds", "--kind"),
    ("filter.device_id", "--device"), ("filter.binding_id", "--binding"), ("filter.caller", "--caller"),
    ("filter.reason", "--reason"), ("after_sequence", "--after"), ("since", "--since"), ("until", "--until"),
    ("reason", "--reason"),
  ]

  func end() -> Never {
    for line in lines { printError(printable(line)) }
    Program.end(exitCode)
  }
}

extension RPCCode {
  fileprivate var exitCode: Int32 {
    switch self {
    case .invalidArgument: ExitStatus.usage.rawValue
    case .failedPrecondition: EXIT_FAILURE
    case .notFound, .outOfRange: ExitStatus.noInput.rawValue
    case .unavailable, .deadlineExceeded, .unimplemented, .cancelled: ExitStatus.unavailable.rawValue
    case .resourceExhausted, .aborted: ExitStatus.lockedData.rawValue
    case .unauthenticated, .permissionDenied: ExitStatus.unprotected.rawValue
    case .dataLoss: ExitStatus.corruptData.rawValue
    default: ExitStatus.wrongAnswer.rawValue
    }
  }
}
