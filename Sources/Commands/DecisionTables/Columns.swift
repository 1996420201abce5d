// The columns that a decision table may have.

/// The start of a case. A table has the columns that it needs, in any order, before the first expected one.
enum GivenColumn: String, CaseIterable {
  /// "R7 R9": the rules that the case shows.
  case rules
  /// The subject, for the reader.
  case name = "case"
  case policy
  case posture
  case standing
  case attempt
  /// The time since the standing.
  case time

  /// Whether "Given:" may set it for all rows below.
  var isGivable: Bool { self != .name }

  static var givable: [String] { allCases.filter(\.isGivable).map(\.rawValue) }
}

/// The required result. Each column of a table is compared in every row, and a blank cell expects nothing.
enum ExpectedColumn: String, CaseIterable {
  case outcome
  /// LocalAuthentication's code: "-8".
  case code
  /// The denial's reason.
  case reason
  /// The attempt in one plain word: "SUCCESS", "FAILED", "CANCEL", "FALLBACK", "OTHER".
  case result
  /// The factors to go on with, or to begin with, best first.
  case next
  /// Attempts left with the factor of the attempt.
  case left
  /// The domain state's verdict.
  case change
  /// The time until a retry.
  case retry
  /// "visible" if the fallback button may be drawn.
  case fallback
  /// The device's standing, if it changed.
  case device
  /// The evaluation's, likewise.
  case evaluation
  /// The passcode's, likewise.
  case passcode
  /// The gesture's, likewise.
  case gesture
  /// The domain state to record.
  case baseline
  /// A diagnosis's obstacles, each with its factors: "BIOMETRY_LOCKOUT biometry".
  case why
  /// What would end them, each once.
  case helps
}

/// A table's columns, by their places.
struct TableColumns {
  private(set) var given: [GivenColumn] = []
  private(set) var expected: [ExpectedColumn] = []

  /// The mark before the first expected column: "→ outcome".
  private static let arrows = ["→", "=>", "->"]

  /// Whether the table has an arrow; tables without one are for the reader.
  static func isDecisionTable(_ header: PipeTable.Row) -> Bool {
    header.cells.contains { outcome(of: $0) != nil }
  }

  init(_ header: PipeTable.Row) throws(TableError) {
    for cell in header.cells {
      if let name = Self.outcome(of: cell) {
        guard expected.isEmpty else { throw cell.error("only the first expected column begins with →") }
        try Self.add(name, to: &expected, "expected")
      } else if expected.isEmpty {
        try Self.add(cell, to: &given, "given")
      } else {
        try Self.add(cell, to: &expected, "expected")
      }
    }
  }

  /// The column's name after the arrow.
  private static func outcome(of cell: SourceText) -> SourceText? {
    for arrow in arrows {
      if let name = cell.dropping(prefix: arrow) { return name }
    }
    return nil
  }

  /// - Parameter kind: "given".
  private static func add<Column: RawRepresentable<String> & CaseIterable & Equatable>(
    _ cell: SourceText, to columns: inout [Column], _ kind: String
  ) throws(TableError) {
    guard let column = Column(rawValue: cell.plain) else {
      let known = Column.allCases.map(\.rawValue).joined(separator: ", ")
      throw cell.error("\(cell.plain.debugDescription) is no \(kind) column; there are \(known)")
    }
    guard !columns.contains(column) else { throw cell.error("the column is here twice") }
    columns.append(column)
  }
}
