// The objectives that a run has to meet.

internal import ArgumentParser
internal import LoadModel

struct Judgement: ParsableArguments {
  @Option(help: ArgumentHelp("What the run has to reach: 'p99<20ms,errors<0.1%,rate>5000'.", valueName: "objectives"))
  var slo: String?

  @Flag(help: "Errors alone do not make the run fail.")
  var allowErrors = false

  func validate() throws {
    do throws(ObjectiveError) {
      _ = try objectives()
    } catch {
      throw ValidationError(error.description)
    }
  }

  private func objectives() throws(ObjectiveError) -> [Objective] {
    try slo.map { text throws(ObjectiveError) in try Objective.list(text) } ?? []
  }

  func judge(_ report: inout LoadReport) {
    // Validated before.
    report.judge(by: (try? objectives()) ?? [], allowsErrors: allowErrors)
  }
}
