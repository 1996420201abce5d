// Policies tested by tables that people read: the public face of this module. Tests/DecisionTables/README.md describes
// the format, and is such a file itself.

public import TouchstonePolicy

/// A Markdown file of decision tables.
///
/// ```
/// let file = try DecisionTableFile(text, policies: EvaluationPolicy.builtIn)
/// for difference in file.run() { print("login.md:\(difference)") }
/// ```
public struct DecisionTableFile: Sendable {
  /// At least one, and each has a row.
  public let tables: [DecisionTable]

  /// Reads the file; whatever its bytes are, it answers with tables or with what is wrong and where.
  ///
  /// - Parameter policies: those that the rows may name.
  public init(_ text: String, policies: [EvaluationPolicy]) throws(TableErrors) {
    var reader = TableReader(policies: policies)
    reader.read(try TableDocument(text))
    guard reader.errors.isEmpty else { throw TableErrors(reader.errors) }
    tables = reader.tables
    guard tables.contains(where: { !$0.rows.isEmpty }) else {
      // A file that tests nothing must not pass for one that found nothing wrong.
      let start = TablePosition(line: 1, column: 1)
      throw TableErrors([TableError(position: start, message: "there is no decision table with a row in the file")])
    }
  }

  /// Asks the rules for every row; empty where each answered as its row says.
  public func run() -> [Difference] {
    tables.flatMap { $0.run() }.flatMap(\.differences)
  }
}

/// One table of a file.
public struct DecisionTable: Sendable {
  /// The heading above it; empty where there is none.
  public let title: String
  public let rows: [DecisionRow]

  /// What each row came to, in their order.
  public func run() -> [RowResult] {
    var results: [RowResult] = []
    var standing: Standing?
    for row in rows {
      var start = row.start(after: standing)
      results.append(RowResult(row: row, differences: row.run(from: &start)))
      standing = start
    }
    return results
  }
}

/// One row: a case, or a step of a story.
public struct DecisionRow: Sendable {
  public let position: TablePosition
  /// The numbers of the rules that it shows.
  public var rules: [Int] { given.rules }
  /// What it is about, in the table's own words.
  public var name: String { given.name }

  let given: CaseGiven
  let policy: EvaluationPolicy
  /// All that are in force beside it.
  let policies: [EvaluationPolicy]
  let attempt: RowAttempt
  let expectations: [Expectation]
}

/// What came of one row.
public struct RowResult: Sendable {
  public let row: DecisionRow
  /// Empty where all came as expected.
  public let differences: [Difference]
}

/// A cell that the rules contradict.
public struct Difference: Sendable, Hashable, CustomStringConvertible {
  /// Of the cell.
  public var position: TablePosition
  /// The row's own name.
  public var name: String
  /// "outcome".
  public var column: String
  /// As the column writes it; empty: nothing.
  public var expected: String
  /// Likewise.
  public var actual: String

  /// "12:40: a third wrong finger: outcome is TRY_AGAIN, not FAILED".
  public var description: String {
    let name = name.isEmpty ? "" : "\(name): "
    return "\(position): \(name)\(column) is \(Self.text(actual)), not \(Self.text(expected))"
  }

  private static func text(_ value: String) -> String {
    value.isEmpty ? "nothing" : value
  }
}
