// The store's statements, which connections prepare. They are in files by subject.

extension Statement {
  static let all =
    reading + conditions + writing + batching + doubts + logging + archiving + sweeping + erasing + aboutKeys
    + ofTransactions
  /// On connections for short reads, and for commits.
  static let ofReads = reading + [hasUnsealedEvents]
  static let ofWrites = conditions + writing + doubts + batching + [insertUnsealedEvents]

  /// A condition of a transaction: without rows it fails (SQLSTATE 22012), and the transaction with it. It needs no function on
  /// the server, and works within a pipeline, where the client cannot check counts.
  static func required(_ name: String, _ rows: String) -> Statement {
    Statement(name, "WITH found AS (\(rows)) SELECT 1 / count(*) FROM found")
  }

  /// The same for an array as the first parameter, of which each element must have given a row.
  static func requiredAll(_ name: String, _ rows: String) -> Statement {
    Statement(
      name,
      """
      WITH found AS (\(rows)) SELECT 1 / (CASE WHEN count(*) = cardinality($1::BYTEA[]) THEN 1 ELSE 0 END) FROM found
      """)
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
