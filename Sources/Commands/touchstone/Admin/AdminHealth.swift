// `touchstone admin health`: whether each replica serves.

internal import ArgumentParser
internal import Glibc
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec

struct AdminHealth: AdminCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Show whether each address of the service serves.",
    discussion: """
      Exits with 1 if one does not serve, and with 69 if one does not answer. With --json, each line has "target" and "status": \
      "SERVING", "NOT_SERVING" or "UNREACHABLE".
      """)

  @OptionGroup var options: AdminOptions

  func perform(_ session: AdminSession) async throws(AdminFailure) {
    var reports: [Report] = []
    for target in session.targets { reports.append(await Self.report(of: target, session)) }
    if session.isJSON {
      for report in reports { printLine(printable(json: report.json)) }
    } else {
      session.print(TextTable(["TARGET", "STATUS", "DETAIL"], reports.map(\.row)))
    }
    if let exitCode = reports.map(\.exitCode).max(), exitCode != EXIT_SUCCESS {
      throw AdminFailure(exitCode: exitCode, lines: [])
    }
  }

  /// By a client of its own: the session's calls only the first address that answers.
  private static func report(of target: String, _ session: AdminSession) async -> Report {
    var configuration = session.configuration
    configuration.target = target
    let client = TouchstoneClient(configuration: configuration)
    let report: Report
    do throws(TouchstoneError) {
      report = Report(target: target, result: .success(try await client.checkHealth(GRPCHealth.CheckRequest()).status))
    } catch {
      report = Report(target: target, result: .failure(error))
    }
    await client.close(grace: .zero)
    return report
  }

  private struct Report {
    let target: String
    let result: Result<GRPCHealth.CheckResponse.ServingStatus, TouchstoneError>

    var row: [String] {
      switch result {
      case .success(let status): [shown(target), status.word, "-"]
      case .failure(let error): [shown(target), "UNREACHABLE", "\(printable(error.message)) (\(error.code))"]
      }
    }

    var json: String {
      let status =
        switch result {
        case .success(.serving): "SERVING"
        case .success: "NOT_SERVING"
        case .failure: "UNREACHABLE"
        }
      return "{\"target\":\(JSONText.quoted(target)),\"status\":\"\(status)\"}"
    }

    var exitCode: Int32 {
      switch result {
      case .success(.serving): EXIT_SUCCESS
      case .success: EXIT_FAILURE
      case .failure: ExitStatus.unavailable.rawValue
      }
    }
  }
}
