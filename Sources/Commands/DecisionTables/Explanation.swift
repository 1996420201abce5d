// Why a case has its result: the rules that it evaluates, in order, and their results.

public import TouchstonePolicy

public struct Explanation: Sendable {
  /// One of a table's expected columns, as in a row.
  public struct Answer: Sendable, Hashable {
    public var column: String
    public var text: String
  }

  /// The policy, with the changes of the case.
  public let policy: EvaluationPolicy
  /// Empty if the event is outside of evaluations and no policy's rules decide it.
  public let rules: [RuleTrace]
  /// The columns that are not blank.
  public let answers: [Answer]

  init(of row: DecisionRow, from start: Standing) {
    var standing = start
    row.prepare(&standing)
    policy = row.policy
    rules = row.trace(standing)
    let observation = row.play(&standing)
    answers = ExpectedColumn.allCases.compactMap { column in
      let text = observation.text(of: column, at: standing.now)
      return text.isEmpty ? nil : Answer(column: column.rawValue, text: text)
    }
  }
}

extension DecisionTableFile {
  /// The row at a line, after the earlier rows of its story; `nil` if there is none.
  public func explain(line: Int) -> Explanation? {
    for table in tables {
      var standing: Standing?
      for row in table.rows {
        var start = row.start(after: standing)
        if row.position.line == line { return Explanation(of: row, from: start) }
        _ = row.run(from: &start)
        standing = start
      }
    }
    return nil
  }
}

/// A case outside of a table: the cells of a row. An empty cell is as in a row without it.
public struct Situation: Sendable, Hashable {
  /// "login", "login, attempts 2".
  public var policy: String
  public var posture = ""
  public var standing = ""
  public var attempt = "can_evaluate"
  /// "+1m".
  public var time = ""

  public init(policy: String) {
    self.policy = policy
  }

  /// - Parameter policies: the policies that may be named.
  public func explain(policies: [EvaluationPolicy]) throws(SituationErrors) -> Explanation {
    var given = CaseGiven()
    var errors: [SituationError] = []
    for (column, text) in cells {
      do throws(TableError) {
        try given.apply(column, SourceText(line: 1, text: text[...]), policies: policies)
      } catch {
        errors.append(SituationError(cell: column.rawValue, message: error.message))
      }
    }
    if given.goesOn { errors.append(SituationError(cell: "standing", message: "there is no previous row to continue")) }
    guard errors.isEmpty else { throw SituationErrors(errors: errors) }
    guard let policy = given.policy, let attempt = given.attempt else {
      let cell: GivenColumn = given.policy == nil ? .policy : .attempt
      throw SituationErrors(errors: [SituationError(cell: cell.rawValue, message: "is missing")])
    }
    let row = DecisionRow(
      position: TablePosition(line: 1, column: 1), given: given, policy: policy, policies: policies, attempt: attempt,
      expectations: [])
    return Explanation(of: row, from: row.start(after: nil))
  }

  private var cells: [(GivenColumn, String)] {
    [(.policy, policy), (.posture, posture), (.standing, standing), (.attempt, attempt), (.time, time)]
  }
}

/// The defect of one cell of a situation.
public struct SituationError: Error, Sendable, Hashable {
  /// "posture".
  public var cell: String
  /// A text to follow it: "is missing".
  public var message: String

  public init(cell: String, message: String) {
    self.cell = cell
    self.message = message
  }
}

/// All defects of a situation; never empty.
public struct SituationErrors: Error, Sendable, Hashable {
  public var errors: [SituationError]
}

extension DecisionRow {
  /// - Parameter standing: at the moment of the attempt.
  fileprivate func trace(_ standing: Standing) -> [RuleTrace] {
    let facts = facts(standing)
    let policy = policy(in: standing)
    switch attempt {
    case .canEvaluate:
      return policy.explain(
        posture: posture, binding: standing.account.binding, device: standing.device,
        profile: standing.account.profile, now: standing.now
      ).1
    case .diagnose:
      return policy.explain(diagnosisFacts(standing)).1
    case .submit(let attempt):
      return policy.explainAttempt(AttemptFacts(facts, attempt: attempt)).1
    case .primary(let login):
      let verdict = login.verdict(at: standing.now, within: policy.primaryFreshness)
      return policy.explainAttempt(AttemptFacts(facts, attempt: .primary(verdict))).1
    case .admit(let factor, _):
      return policy.explainAdmission(of: factor, facts).1
    case .secret(let factor, let isRight):
      return traceSecret(factor, isRight: isRight, standing)
    case .settle(let number, let isRight):
      guard let admission = standing.admissions[number] else { return [] }
      let attempt = Attempt.secret(admission.factor, admission.reservation, isRight: isRight)
      return policy.explainAttempt(AttemptFacts(facts, attempt: attempt)).1
    case .account, .token:
      return []
    }
  }

  /// Both phases, one after the other.
  private func traceSecret(_ factor: Factor, isRight: Bool, _ standing: Standing) -> [RuleTrace] {
    let policy = policy(in: standing)
    let (admission, rules) = policy.explainAdmission(of: factor, facts(standing))
    guard case .verify(let reservation, let counted) = admission else { return rules }
    var standing = standing
    standing[secret: factor] = counted
    let attempt = Attempt.secret(factor, reservation, isRight: isRight)
    return rules + policy.explainAttempt(AttemptFacts(facts(standing), attempt: attempt)).1
  }
}
