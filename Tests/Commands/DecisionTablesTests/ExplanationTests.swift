// That an explanation is of the case that was asked for, and never says otherwise than the decision.

import DecisionTables
import Testing
import TouchstonePolicy

@Suite("Explaining cases") struct ExplanationTests {
  @Test("every row of every table is explained as it is decided", arguments: TableFile.all)
  func rows(file: TableFile) throws {
    let tables = try file.read()
    var rows = 0
    for case .table(let table) in try TableDocument(file.text).blocks {
      guard let arrow = table.header.texts.firstIndex(where: { $0.hasPrefix("→") }) else { continue }
      for row in table.rows {
        rows += 1
        let explanation = try #require(tables.explain(line: row.position.line), "line \(row.position.line)")
        #expect(explanation.answers["outcome"] == row.texts[arrow], "line \(row.position.line)")
        guard let code = table.header.texts.firstIndex(of: "code") else { continue }
        #expect(explanation.answers["code"] ?? "" == row.texts[code], "line \(row.position.line)")
      }
    }
    #expect(rows > 0)
  }

  @Test("a row of a story is explained from what the rows above left")
  func story() throws {
    let file = try DecisionTableFile(
      """
      | policy | standing            | attempt        | → outcome  |
      |--------|---------------------|----------------|------------|
      | login  | failures 4          | wrong biometry | LOCKED_OUT |
      | login  | then                | can_evaluate   | DENIED     |
      | login  |                     | can_evaluate   | YES        |
      """, policies: EvaluationPolicy.builtIn)
    let locked = try #require(file.explain(line: 4))
    #expect(locked.answers["outcome"] == "DENIED")
    #expect(locked.rules.contains { $0.rule == "R4" && !$0.passed })
    let open = try #require(file.explain(line: 5))
    #expect(open.rules.contains { $0.rule == "R4" && $0.passed })
    for line in [-1, 0, 1, 2, 6, .max] { #expect(file.explain(line: line) == nil) }
  }

  @Test("a passcode is explained from its admission to its verdict")
  func secret() throws {
    var situation = Situation(policy: "login")
    situation.standing = "passcode set, passcode failures 4"
    situation.attempt = "wrong passcode"
    let explanation = try situation.explain(policies: EvaluationPolicy.builtIn)
    let asked = explanation.rules.map(\.rule)
    let admission = try #require(asked.firstIndex(of: "R14"))
    #expect(asked[admission...].contains("R37"))
    #expect(explanation.answers["passcode"] == "failures 5, locked 1m")

    situation.standing += ", passcode locked 1m"
    situation.time = "+30s"
    let refused = try situation.explain(policies: EvaluationPolicy.builtIn)
    #expect(!refused.rules.map(\.rule).contains("R14"))
    #expect(refused.answers["retry"] == "30s")
  }

  @Test("what a situation does not say is as in a table, and every cell that is wrong is named")
  func cells() throws {
    let unsaid = try Situation(policy: "login, attempts 2").explain(policies: EvaluationPolicy.builtIn)
    #expect(unsaid.policy.attemptsPerEvaluation == 2)
    #expect(unsaid.answers["outcome"] == "YES")

    var wrong = Situation(policy: "logon")
    (wrong.posture, wrong.standing, wrong.attempt, wrong.time) = ("iOS nine", "then", "guess", "later")
    let errors = #expect(throws: SituationErrors.self) { try wrong.explain(policies: EvaluationPolicy.builtIn) }
    #expect(errors?.errors.map(\.cell) == ["policy", "posture", "attempt", "time", "standing"])
    let missing = #expect(throws: SituationErrors.self) { try Situation(policy: " ").explain(policies: []) }
    #expect(missing?.errors == [SituationError(cell: "policy", message: "is missing")])
  }
}

extension [Explanation.Answer] {
  fileprivate subscript(column: String) -> String? {
    first { $0.column == column }?.text
  }
}
