// What the store says to the database: by subject in the files beside this one. Connections prepare it beforehand.

extension Statement {
  static let all =
    reading + conditions + writing + doubts + logging + archiving + sweeping + erasing + aboutKeys + ofTransactions
  /// On connections for short reads, and for commits.
  static let ofReads = reading + [hasUnsealedEvents]
  static let ofWrites = conditions + writing + doubts + [insertUnsealedEvent]

  /// A condition of a transaction: where the rows are none, it fails (SQLSTATE 22012), and the transaction with it. It
  /// takes no function of ours on the server, and works within a pipeline, where nobody looks at counts.
  static func required(_ name: String, _ rows: String) -> Statement {
    Statement(name, "WITH found AS (\(rows)) SELECT 1 / count(*) FROM found")
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
