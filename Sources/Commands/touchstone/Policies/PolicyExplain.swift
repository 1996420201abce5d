// `touchstone policy explain`: shows which rules apply in a situation, and the result of each.

internal import ArgumentParser
internal import DecisionTables
internal import TerminalText
internal import TouchstonePolicy
internal import TouchstoneServer

extension Policy {
  struct Explain: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show which rules apply to a case, and the result of each.",
      discussion: """
        The case is in the words of decision tables (docs/POLICIES.md):

          touchstone policy explain login --posture "iOS 9.3, touch_id" --standing "failures 4"
          touchstone policy explain payment --posture "iOS 8.4" --attempt "right biometry"
          touchstone policy explain --row deploy/policies.example.md:20 --config deploy/policies.example.yaml

        Anything left out is as on a healthy iPhone whose binding holds a key of the enrolled fingers.
        """)

    @OptionGroup var source: Source

    @Argument(help: "The policy's name, and settings to change: \"login, attempts 2\".")
    var policy: String?

    @Option(help: ArgumentHelp("The phone's posture.", valueName: "words"))
    var posture: String = ""

    @Option(help: ArgumentHelp("The stored state when the attempt comes.", valueName: "words"))
    var standing: String = ""

    @Option(help: ArgumentHelp("The attempt.", valueName: "words"))
    var attempt: String = "can_evaluate"

    @Option(help: ArgumentHelp("The time between the standing and the attempt.", valueName: "+time"))
    var time: String = ""

    @Option(help: ArgumentHelp("A row of a file of decision tables instead.", valueName: "file:line"))
    var row: String?

    func validate() throws {
      guard (policy == nil) != (row == nil) else { throw ValidationError("name a policy, or a --row") }
      if row != nil, !(posture + standing + time).isEmpty || attempt != "can_evaluate" {
        throw ValidationError("a --row has its own posture, standing, attempt and time")
      }
    }

    func perform() throws(Failure) {
      for line in ExplanationSheet.lines(try explanation(source.readPolicies())) { printLine(line) }
    }

    private func explanation(_ policies: [EvaluationPolicy]) throws(Failure) -> Explanation {
      if let row { return try TableRow(parsing: row).explain(policies) }
      var situation = Situation(policy: policy ?? "")
      (situation.posture, situation.standing) = (posture, standing)
      (situation.attempt, situation.time) = (attempt, time)
      do throws(SituationErrors) {
        return try situation.explain(policies: policies)
      } catch {
        throw Failure(kind: .usage, messages: error.errors.map { "\($0.cell): \($0.message)" })
      }
    }
  }
}

/// FILE:LINE.
private struct TableRow {
  let path: String
  let line: Int

  init(parsing text: String) throws(Failure) {
    guard let colon = text.lastIndex(of: ":"), let line = Int(text[text.index(after: colon)...]) else {
      throw Failure(kind: .usage, message: "\(text.debugDescription) is not FILE:LINE")
    }
    self.line = line
    path = String(text[..<colon])
  }

  func explain(_ policies: [EvaluationPolicy]) throws(Failure) -> Explanation {
    for file in try TableFile.readAll([path], policies: policies) {
      if let explanation = file.tables.explain(line: line) { return explanation }
    }
    throw Failure(kind: .usage, message: "\(path) has no row of a decision table in line \(line)")
  }
}

/// An explanation as lines for people.
private enum ExplanationSheet {
  static func lines(_ explanation: Explanation) -> [String] {
    let rules = explanation.rules.map { [$0.rule, $0.passed ? "ok" : "no", $0.detail] }
    let answers = explanation.answers.map { [$0.column, $0.text] }
    let separator = rules.isEmpty ? [] : [""]
    return aligned(rules) + separator + aligned(answers)
  }
}
