// Lets commits that wait at the same time share one fsync. Without it, 64 callers at once had a third of the refusals a
// second, and a tenth of them at one binding, whose row each commit then holds for its fsync.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Statement {
  /// The same without waiting for the fsync, for the last statement of a commit, and for no other.
  fileprivate var unflushed: Statement? {
    switch name {
    case Statement.finish.name: .finishUnflushed
    case Statement.commitLogin.name: .commitLoginUnflushed
    default: nil
    }
  }
}

extension Transaction {
  var isCommit: Bool { calls.last?.statement.unflushed != nil }

  /// Its last statement returns how many marks it wrote.
  func foundConflict(_ results: [QueryResult]) -> Bool {
    guard isCommit, var row = results.last?.first else { return false }
    return row.integer() == 0
  }

  /// Each stays a separate transaction, which fails alone.
  var unflushed: Transaction {
    Transaction(
      calls: calls.dropLast() + calls.suffix(1).map { call in call.saying(call.statement.unflushed ?? call.statement) },
      freesRowsEarly: freesRowsEarly, completion: completion)
  }
}

extension StatementCall {
  /// Writes a mark that no commit queries, because only a transaction that wrote waits for an fsync. It is swept like
  /// others.
  static func flushing(expiresAt: UnixTime) -> StatementCall {
    StatementCall(.flush).bind(ExpiringKey(expiresAt: expiresAt, id: .random()))
  }
}

extension ChangeSet {
  /// Whether its commit frees the rows of a binding or a profile that a caller named before it waits for the fsync. An
  /// active binding's refusals write their postures one after the other. Others wait for nobody, but all must take as
  /// long (R37), so that those about a known profile go the same way. A success, which touches its binding, does not:
  /// it would pay for another statement.
  var freesRowsEarly: Bool {
    var isAboutNamed = false
    for change in changes {
      switch change {
      case .touchBinding: return false
      case .requireBinding, .notePosture, .requireProfile: isAboutNamed = true
      default: break
      }
    }
    return isAboutNamed
  }
}
