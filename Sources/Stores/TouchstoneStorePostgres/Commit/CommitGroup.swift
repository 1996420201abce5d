// Lets commits that wait at the same time share one fsync.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Transaction {
  var isCommit: Bool { calls.last?.statement.name == Statement.finish.name }

  /// It is about a binding or a profile that a caller named, and frees its rows before it waits for the fsync. An active
  /// binding's refusals write their postures one after the other, as those about a profile that never was write its missing
  /// erasure mark; the others wait for no other (R37).
  var isOfRefusal: Bool { calls.contains { Self.ofRefusals.contains($0.statement.name) } }

  private static let ofRefusals = [
    Statement.requireBinding, .requireNoBinding, .notePosture, .noteRequiredPosture, .insertNoErasureMark,
  ].map(\.name)

  /// Each stays a separate transaction, which fails alone.
  var unflushed: Transaction {
    Transaction(calls: calls.dropLast() + calls.suffix(1).map { $0.saying(.finishUnflushed) }, completion: completion)
  }
}

extension StatementCall {
  /// Writes a mark that no commit queries, because only a transaction that wrote waits for an fsync. It is swept like others.
  static func flushing(expiresAt: UnixTime) -> StatementCall {
    StatementCall(.flush).bind(ExpiringKey(expiresAt: expiresAt, id: .random()))
  }
}
