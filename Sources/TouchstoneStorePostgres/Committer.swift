// Commits: sent, sent again where they lost a race on the server, and asked after where the connection was lost.

internal import Dispatch
internal import DispatchPool
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// A transaction leaves a mark with its effects. Where the connection is lost before the answer, the mark is written by
/// whoever asks, as one that was not committed: either that fails, because the transaction is done, or it succeeds, and
/// then the transaction can never be done any more, wherever it still is on its way. The answer is known in both cases.
final class Committer: Sendable {
  /// Marks are asked for within a call's time, and processes' clocks may differ by a minute. A busy service leaves
  /// thousands a second.
  static let markLifetime: Duration = .seconds(5 * 60)
  /// Between two questions after a commit in doubt.
  private static let questionInterval: Duration = .milliseconds(100)

  private let writes: ConnectionLane
  private let lineage: Lineage
  private let clock: @Sendable () -> UnixTime
  /// Of this process's events.
  private let places = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "touchstone.postgres.retries")

  init(writes: ConnectionLane, lineage: Lineage, clock: @escaping @Sendable () -> UnixTime) {
    self.writes = writes
    self.lineage = lineage
    self.clock = clock
  }

  func commit(_ changeSet: ChangeSet, completion: @escaping @Sendable (StoreError?) -> Void) {
    let statements: ChangeSetStatements
    let now = clock()
    let mark = ExpiringKey(expiresAt: now + Self.markLifetime, id: .random())
    do throws(ChangeSetStatements.Contradiction) {
      statements = try ChangeSetStatements(
        changeSet, now: now, mark: mark, in: lineage,
        places: { places.wrappingAdd(1, ordering: .relaxed).newValue })
    } catch {
      return completion(StoreError(code: .conflict, message: "two changes rest on different versions of one record"))
    }
    attempt(
      Attempt(calls: statements.calls, mark: mark, deadline: .now() + writes.timeout, completion: completion))
  }

  private struct Attempt: Sendable {
    let calls: [StatementCall]
    let mark: ExpiringKey
    let deadline: MonotonicInstant
    let completion: @Sendable (StoreError?) -> Void
    private(set) var number = 1

    var next: Attempt {
      var next = self
      next.number += 1
      return next
    }
  }

  private func attempt(_ attempt: Attempt) {
    writes.run(attempt.calls, until: attempt.deadline) { [self] result in
      switch result {
      case .success: attempt.completion(nil)
      case .failure(.lost(let reason)): settle(attempt, reason: reason)
      case .failure(let error) where error.isWorthRetrying && attempt.number < Retry.maximumAttempts:
        let next = attempt.next
        after(Retry.delay(afterAttempt: attempt.number), before: attempt.deadline) { isInTime in
          if isInTime { self.attempt(next) } else { attempt.completion(StoreError(error)) }
        }
      case .failure(let error): attempt.completion(StoreError(error))
      }
    }
  }

  // MARK: In doubt

  private func settle(_ attempt: Attempt, reason: String) {
    writes.run(Self.question(about: attempt.mark), until: attempt.deadline, isQuestion: true) { [self] result in
      switch result.flatMap(Self.isCommitted) {
      case .success(true): attempt.completion(nil)
      case .success(false):
        attempt.completion(
          StoreError(code: .unavailable, message: "the connection was lost, and nothing done: \(reason)"))
      case .failure:
        after(Self.questionInterval, before: attempt.deadline) { isInTime in
          if isInTime { return self.settle(attempt, reason: reason) }
          attempt.completion(
            StoreError(code: .inDoubt, message: "the connection was lost in a commit, and the database is out of reach")
          )
        }
      }
    }
  }

  static func question(about mark: ExpiringKey) -> [StatementCall] {
    [
      StatementCall(.forestallCommit).bind(mark), StatementCall(.selectCommitMark).bind(mark),
      // What was found is durable, too, when this is answered.
      .flushing(expiresAt: mark.expiresAt),
    ]
  }

  static func isCommitted(_ results: [QueryResult]) -> Result<Bool, PostgresError> {
    do throws(PostgresError) {
      guard results.count == 3 else { throw .corrupt("a commit mark is missing") }
      return .success(try results[1].only { row in row.boolean() })
    } catch {
      return .failure(error)
    }
  }

  private func after(
    _ delay: Duration, before deadline: MonotonicInstant, _ body: @escaping @Sendable (_ isInTime: Bool) -> Void
  ) {
    let time = MonotonicInstant.now() + delay
    guard time < deadline else { return body(false) }
    queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds)) { body(true) }
  }
}
