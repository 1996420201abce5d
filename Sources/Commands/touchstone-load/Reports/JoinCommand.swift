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
    for file in files { reports += try ReportFile.reports(file) }
    do throws(JoinError) {
      return try LoadReport(joining: reports)
    } catch {
      throw .usage(error.description)
    }
  }
}
