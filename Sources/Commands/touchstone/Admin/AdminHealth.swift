// `touchstone admin health`: whether each replica serves.

internal import ArgumentParser
internal import Encodings
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
      "SERVING", "NOT_SERVING" or "UNREACHABLE". A service that knows the caller also names its version ("version").
      """)

  @OptionGroup var options: AdminOptions

  func perform(_ session: AdminSession) async throws(AdminFailure) {
    var reports: [Report] = []
    for target in session.targets { reports.append(await Self.report(of: target, session)) }
    if session.isJSON {
      for report in reports { printLine(printable(json: report.json)) }
    } else {
      session.print(TextTable(["TARGET", "STATUS", "VERSION", "DETAIL"], reports.map(\.row)))
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
      report = Report(target: target, result: .success(try await client.health()))
    } catch {
      report = Report(target: target, result: .failure(error))
    }
    await client.close(grace: .zero)
    return report
  }

  private struct Report {
    let target: String
    let result: Result<(status: GRPCHealth.CheckResponse.ServingStatus, version: String?), TouchstoneError>

    var row: [String] {
      switch result {
      case .success(let health): [shown(target), health.status.word, health.version.map(shown) ?? "-", "-"]
      case .failure(let error): [shown(target), "UNREACHABLE", "-", "\(printable(error.message)) (\(error.code))"]
      }
    }

    var json: String {
      let target = "\"target\":\(JSONText.quoted(target))"
      switch result {
      case .success(let health):
        let version = health.version.map { ",\"version\":\(JSONText.quoted($0))" } ?? ""
        return "{\(target),\"status\":\"\(health.status == .serving ? "SERVING" : "NOT_SERVING")\"\(version)}"
      case .failure: return "{\(target),\"status\":\"UNREACHABLE\"}"
      }
    }

    var exitCode: Int32 {
      switch result {
      case .success(let health): health.status == .serving ? EXIT_SUCCESS : EXIT_FAILURE
      case .failure: ExitStatus.unavailable.rawValue
      }
    }
  }
}
