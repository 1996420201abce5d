// `touchstone-load compare`: whether a version is worse than another.

internal import ArgumentParser
internal import LoadModel

struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Compare the reports of two versions.",
    discussion: """
      Each file has one report (--json) on each line; repeated runs give confidence intervals. Exits with 99 if the second \
      version is worse beyond the noise.
      """)

  @Argument(help: ArgumentHelp("The reports before a change.", valueName: "A.json"))
  var before: String

  @Argument(help: ArgumentHelp("The reports after it.", valueName: "B.json"))
  var after: String

  func run() throws {
    let comparison: Comparison
    do throws(LoadError) {
      comparison = Comparison(try ReportFile.reports(before), try ReportFile.reports(after))
    } catch {
      error.end()
    }
    print(comparison.text)
    if comparison.hasRegression { throw ExitCode(Verdict.Outcome.missed.exitCode) }
  }
}
