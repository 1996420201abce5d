// Policies tested by readable tables: the public API of this module. docs/POLICIES.md describes the format, and is such
// a file itself.

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

  /// Reads the file. For any bytes it returns tables, or throws the errors with their places.
  ///
  /// - Parameter policies: the policies that the rows may name.
  public init(_ text: String, policies: [EvaluationPolicy]) throws(TableErrors) {
    var reader = TableReader(policies: policies)
    reader.read(try TableDocument(text))
    guard reader.errors.isEmpty else { throw TableErrors(reader.errors) }
    tables = reader.tables
    guard tables.contains(where: { !$0.rows.isEmpty }) else {
      // A file without a table must not pass as one without a difference.
      let start = TablePosition(line: 1, column: 1)
      throw TableErrors([TableError(position: start, message: "there is no decision table with a row in the file")])
    }
  }

  /// Runs every row against the rules; empty if each result is as its row says.
  public func run() -> [Difference] {
    tables.flatMap { $0.run() }.flatMap(\.differences)
  }
}

/// One table of a file.
public struct DecisionTable: Sendable {
  /// The heading above it; empty if there is none.
  public let title: String
  public let rows: [DecisionRow]

  /// The result of each row, in their order.
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
  /// The subject, in the table's own words.
  public var name: String { given.name }

  let given: CaseGiven
  let policy: EvaluationPolicy
  /// All policies that are in force at the same time.
  let policies: [EvaluationPolicy]
  let attempt: RowAttempt
  let expectations: [Expectation]
}

/// The result of one row.
public struct RowResult: Sendable {
  public let row: DecisionRow
  /// Empty if everything is as expected.
  public let differences: [Difference]
}

/// A cell that differs from the rules' result.
public struct Difference: Sendable, Hashable, CustomStringConvertible {
  /// The cell's place.
  public var position: TablePosition
  /// The row's own name.
  public var name: String
  /// "outcome".
  public var column: String
  /// In the column's notation; empty: nothing.
  public var expected: String
  /// In the column's notation; empty: nothing.
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
