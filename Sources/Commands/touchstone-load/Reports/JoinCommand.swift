// `touchstone-load join`: one report of several processes or machines.

internal import ArgumentParser
internal import Glibc
internal import LoadModel

struct JoinCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Join the reports of runs at the same time into one.",
    discussion: """
      Each file has one report (--json) on each line. Counts and histograms are added, and judged as those of one run.
      """)

  @OptionGroup var judgement: Judgement
  @OptionGroup var outputs: Outputs

  @Argument(help: ArgumentHelp("The reports.", valueName: "report.json"))
  var files: [String]

  func run() throws {
    var report: LoadReport
    do throws(LoadError) {
      report = try joined()
      judgement.judge(&report)
      try outputs.write(report)
    } catch {
      error.end()
    }
    throw ExitCode(report.exitCode)
  }

  private func joined() throws(LoadError) -> LoadReport {
    var reports: [LoadReport] = []
    for file in files { reports += try Self.reports(file) }
    do throws(JoinError) {
      return try LoadReport(joining: reports)
    } catch {
      throw .usage(error.description)
    }
  }

  /// Reads the reports of a file, which has at least one.
  private static func reports(_ path: String) throws(LoadError) -> [LoadReport] {
    guard let text = TextFile.read(path) else { throw .unreadable(path) }
    let reports: [LoadReport]
    do {
      reports = try LoadReport.reports(fromJSON: text)
    } catch {
      throw .usage("\(path) is no report of touchstone-load: \(error)")
    }
    guard !reports.isEmpty else { throw .usage("\(path) has no report") }
    if let other = reports.first(where: { $0.schemaVersion != LoadReport.currentSchema }) {
      throw .usage(
        "\(path) has schema version \(other.schemaVersion), and this program reads \(LoadReport.currentSchema)")
    }
    return reports
  }
}
