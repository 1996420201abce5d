// Commits that wait at the same time share one fsync.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Transaction {
  var isCommit: Bool { calls.last?.statement.name == Statement.finish.name }

  /// Each stays a transaction of its own, which fails alone.
  var unflushed: Transaction {
    Transaction(calls: calls.dropLast() + calls.suffix(1).map { $0.saying(.finishUnflushed) }, completion: completion)
  }
}

extension StatementCall {
  /// Writes something that nobody asks for: only who wrote waits for an fsync. Swept like other marks.
  static func flushing(expiresAt: UnixTime) -> StatementCall {
    StatementCall(.forestallCommit).bind(ExpiringKey(expiresAt: expiresAt, id: .random()))
  }
}
