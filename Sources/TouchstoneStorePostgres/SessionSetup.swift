// What a connection is told before it serves.

enum SessionSetup {
  /// The server stops a statement so much earlier than its answer is given up.
  static let grace: Duration = .milliseconds(500)

  /// - Parameter idleTimeout: between two statements of a transaction.
  static func statements(statementTimeout: Duration, idleTimeout: Duration) -> [String] {
    [
      "SET statement_timeout = \(statementTimeout.milliseconds)",
      // A process that stands still, or cannot be reached, must not keep a lock for long.
      "SET idle_in_transaction_session_timeout = \(idleTimeout.milliseconds)",
      // What was answered is durable, whatever the server's or the role's default; stronger settings stay.
      """
      SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
        THEN 'on' ELSE current_setting('synchronous_commit') END, false)
      """,
      // Two statements of one transaction see what was committed between them, and `Statement.finish` rests on it; or the
      // engine is serializable, because it knows nothing else or was told so, and answers 40001 where it must.
      """
      SELECT set_config('default_transaction_isolation', CASE current_setting('default_transaction_isolation')
        WHEN 'serializable' THEN 'serializable' ELSE 'read committed' END, false)
      """,
      "SET default_transaction_read_only = off",
    ]
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 {
    components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
  }
}
