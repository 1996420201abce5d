// The store's statements, which connections prepare. They are in files by subject.

extension Statement {
  static let all =
    reading + conditions + writing + withdrawing + batching + doubts + logging + archiving + sweeping + erasing
    + aboutKeys + ofTransactions
  /// On connections for short reads, and for commits.
  static let ofReads = reading + [hasUnsealedEvents]
  static let ofWrites = conditions + writing + withdrawing + batching + doubts + [insertUnsealedEvents]

  // MARK: Conflicts

  /// Whether the transaction has found no conflict yet. Each statement of a commit has this condition, so that after a
  /// conflict the rest of the transaction does nothing. It needs no function on the server and no error, which the
  /// server would log (`commitTogether` has the one exception), and works within a pipeline, where the client cannot
  /// check counts.
  static let isOpen = "coalesce(current_setting('touchstone.conflict', true), '') = ''"

  /// Notes a conflict for the rest of the transaction, which then has nothing to make durable.
  static let noteConflict =
    "SELECT set_config('touchstone.conflict', 'found', true), set_config('synchronous_commit', 'off', true)"

  /// A decision of a transaction: it is a conflict if there are no rows. What comes before it in the transaction must
  /// be without effect, or be withdrawn after a conflict.
  static func deciding(_ name: String, _ rows: String) -> Statement {
    Statement(name, "WITH found AS (\(rows)) \(noteConflict) WHERE NOT EXISTS (SELECT FROM found)")
  }

  /// A write whose decision came before it in the transaction. If it finds no row all the same, it fails (SQLSTATE
  /// 22012), and the transaction with it.
  static func decided(_ name: String, _ rows: String) -> Statement {
    Statement(
      name,
      "WITH found AS (\(rows)) SELECT 1 / (CASE WHEN count(*) > 0 OR NOT (\(isOpen)) THEN 1 ELSE 0 END) FROM found")
  }

  static func placeholders(_ range: ClosedRange<Int>) -> String {
    range.map { "$\($0)" }.joined(separator: ", ")
  }

  // MARK: Transactions of several round trips

  static let begin = Statement("begin_transaction", "BEGIN")
  static let commit = Statement("commit_transaction", "COMMIT")
  static let rollBack = Statement("roll_back", "ROLLBACK")

  static let ofTransactions = [begin, commit, rollBack]
}

/// A write that compares: as the decision itself, or after another statement decided and holds the row.
struct ComparingStatement: Sendable {
  let deciding: Statement
  let decided: Statement

  init(_ name: String, _ rows: String) {
    deciding = .deciding(name, rows)
    decided = .decided("\(name)_decided", rows)
  }

  var both: [Statement] { [deciding, decided] }
}
