// From a document to decision tables.

import TouchstonePolicy

struct TableReader {
  private(set) var tables: [DecisionTable] = []
  private(set) var errors: [TableError] = []
  private let policies: [EvaluationPolicy]
  /// The headings above, and the values given below each; a deeper heading begins with the outer one's values.
  private var scopes = [Scope(level: 0, title: "", given: CaseGiven())]

  private struct Scope {
    let level: Int
    let title: String
    var given: CaseGiven
  }

  init(policies: [EvaluationPolicy]) {
    self.policies = policies
  }

  mutating func read(_ document: TableDocument) {
    for block in document.blocks where errors.count < TableErrors.maximumCount {
      switch block {
      case .heading(let level, let title): enter(level: level, title: title)
      case .given(let given): read(given)
      case .table(let table): read(table)
      }
    }
  }

  private mutating func enter(level: Int, title: String) {
    scopes.removeAll { $0.level >= level }
    scopes.append(Scope(level: level, title: title, given: scopes[scopes.count - 1].given))
  }

  /// Replaces the values given under this heading before.
  private mutating func read(_ list: [TableDocument.Given]) {
    var given = scopes.count > 1 ? scopes[scopes.count - 2].given : CaseGiven()
    for item in list {
      do throws(TableError) {
        try apply(item, to: &given)
      } catch {
        errors.append(error)
      }
    }
    scopes[scopes.count - 1].given = given
  }

  private func apply(_ item: TableDocument.Given, to given: inout CaseGiven) throws(TableError) {
    guard let column = GivenColumn(rawValue: item.key.plain), column.isGivable else {
      let known = GivenColumn.givable.joined(separator: ", ")
      throw item.key.error("\(item.key.plain.debugDescription) cannot be given; there are \(known)")
    }
    try given.apply(column, item.value, policies: policies)
    if given.goesOn { throw item.value.error("only a row can continue the previous one") }
  }

  private mutating func read(_ table: PipeTable) {
    guard TableColumns.isDecisionTable(table.header) else { return refuseForgottenArrow(table.header) }
    let columns: TableColumns
    do throws(TableError) {
      columns = try TableColumns(table.header)
    } catch {
      errors.append(error)
      return
    }
    var rows: [DecisionRow] = []
    var elapsed: Duration = .zero
    for row in table.rows where errors.count < TableErrors.maximumCount {
      do throws(TableError) {
        rows.append(try read(row, columns, isFirst: rows.isEmpty, after: &elapsed))
      } catch {
        errors.append(error)
      }
    }
    tables.append(DecisionTable(title: scopes[scopes.count - 1].title, rows: rows))
  }

  /// A table for the reader has no column of a decision table. A table with one has lost its arrow.
  private mutating func refuseForgottenArrow(_ header: PipeTable.Row) {
    guard let cell = header.cells.first(where: { GivenColumn(rawValue: $0.plain) != nil }) else { return }
    errors.append(cell.error("no column begins with →: mark the first expected column"))
  }

  /// - Parameter elapsed: since the beginning of the row's story.
  private func read(
    _ row: PipeTable.Row, _ columns: TableColumns, isFirst: Bool, after elapsed: inout Duration
  ) throws(TableError) -> DecisionRow {
    var given = scopes[scopes.count - 1].given
    for (column, cell) in zip(columns.given, row.cells) { try given.apply(column, cell, policies: policies) }
    guard let first = row.cells.first, let policy = given.policy else {
      throw TableError(position: row.position, message: "the row has no policy, nor was one given above")
    }
    guard let attempt = given.attempt else { throw first.error("the row has no attempt, nor was one given above") }
    if given.goesOn && isFirst { throw first.error("the table's first row cannot continue a previous one") }
    elapsed = (given.goesOn ? elapsed : .zero) + given.offset
    guard abs(elapsed.components.seconds) <= Duration.maximumSeconds else {
      throw first.error("the story lasts longer than a century")
    }
    var expectations: [Expectation] = []
    for (column, cell) in zip(columns.expected, row.cells.dropFirst(columns.given.count)) {
      expectations.append(try Expectation(column, cell))
    }
    return DecisionRow(
      position: row.position, given: given, policy: policy, policies: policies, attempt: attempt,
      expectations: expectations)
  }
}
