// Sends commits, sends them again if they lost a race on the server, and finds out their outcome if the connection is
// lost.

internal import Dispatch
internal import DispatchPool
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// A transaction leaves a mark with its effects. If the connection is lost before the answer, the committer writes the
/// mark as not committed. Either that fails, because the transaction is done, or it succeeds, and then the transaction
/// can never be done any more, wherever it is on its way. The outcome is known in both cases.
final class Committer: Sendable {
  /// Marks are queried within a call's time, and processes' clocks may differ by a minute. A busy service leaves
  /// thousands a second.
  static let markLifetime: Duration = .seconds(5 * 60)
  /// The time between two queries about a commit in doubt.
  private static let questionInterval: Duration = .milliseconds(100)

  private let writes: ConnectionLane
  /// For commits that wait for a row which another transaction holds.
  private let waits: ConnectionLane
  private let lineage: Lineage
  private let clock: @Sendable () -> UnixTime
  /// The places of this process's events.
  private let places = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "touchstone.postgres.retries")
  private let batcher: Batcher<(Commit, CommitForBatch)>
  private let observer: StoreObserver

  /// - Parameters:
  ///   - waits: as long as `writes` has a limit to its waits for rows.
  ///   - batches: how many commits share a transaction.
  init(
    writes: ConnectionLane, waits: ConnectionLane, lineage: Lineage, batches: BatchLimits,
    clock: @escaping @Sendable () -> UnixTime, observer: StoreObserver
  ) {
    self.writes = writes
    self.waits = waits
    self.lineage = lineage
    self.clock = clock
    self.observer = observer
    batcher = Batcher(batches)
  }

  /// A change set until its answer.
  struct Commit: Sendable {
    let changeSet: ChangeSet
    let deadline: MonotonicTime
    let completion: @Sendable (StoreError?) -> Void
  }

  func commit(_ changeSet: ChangeSet, completion: @escaping @Sendable (StoreError?) -> Void) {
    let commit = Commit(changeSet: changeSet, deadline: .now() + writes.timeout, completion: completion)
    guard let forBatch = CommitForBatch(changeSet) else { return runAlone(commit) }
    if !batcher.add((commit, forBatch), run: run) { completion(.overloaded) }
  }

  // MARK: Several in one transaction

  private func run(_ commits: [(Commit, CommitForBatch)], _ ended: @escaping @Sendable () -> Void) {
    var batch = CommitBatch()
    var members: [Commit] = []
    var others: [Commit] = []
    for (commit, forBatch) in commits {
      if batch.add(forBatch) { members.append(commit) } else { others.append(commit) }
    }
    if members.count == 1, !batch.touchesBindings {
      runAlone(members[0], then: ended)
    } else {
      runTogether(batch, members, then: ended)
    }
    for commit in others { runAlone(commit) }
  }

  private func runTogether(_ batch: CommitBatch, _ members: [Commit], then ended: @escaping @Sendable () -> Void) {
    let now = clock()
    let mark = ExpiringKey(expiresAt: now + Self.markLifetime, id: .random())
    let calls = batch.calls(mark: mark, in: lineage, at: now, places: nextPlace)
    // The first to come has the earliest deadline.
    let deadline = members[0].deadline
    let began = MonotonicTime.now()
    writes.run(calls, until: deadline) { [self] result in
      ended()
      noteTime(of: members.count, since: began, result)
      switch result {
      case .failure(.conflict) where members.count == 1: members[0].completion(StoreError(.conflict))
      case .failure(.conflict), .failure(.server):
        // Perhaps only one of them is refused, and none is done.
        for commit in members { runAlone(commit) }
      case .failure(let error):
        conclude(
          Attempt(calls: calls, mark: mark, deadline: deadline) { failure in
            for commit in members { commit.completion(failure) }
          }, .failure(error))
      case .success:
        for commit in members { commit.completion(nil) }
      }
    }
  }

  // MARK: Alone

  private func runAlone(_ commit: Commit, then ended: @escaping @Sendable () -> Void = {}) {
    let statements: ChangeSetStatements
    let now = clock()
    let mark = ExpiringKey(expiresAt: now + Self.markLifetime, id: .random())
    do throws(ChangeSetStatements.Contradiction) {
      statements = try ChangeSetStatements(commit.changeSet, mark: mark, in: lineage, places: nextPlace)
    } catch {
      commit.completion(StoreError(code: .conflict, message: "two changes rest on different versions of one record"))
      return ended()
    }
    let attempt = Attempt(
      calls: statements.calls, freesRowsEarly: commit.changeSet.freesRowsEarly, mark: mark, deadline: commit.deadline,
      completion: commit.completion)
    let began = MonotonicTime.now()
    writes.run(attempt.calls, until: attempt.deadline, freesRowsEarly: attempt.freesRowsEarly) { [self] result in
      ended()
      noteTime(of: 1, since: began, result)
      conclude(attempt, result)
    }
  }

  /// Commits that wait for rows of others, or are tried again, are not noted: their time tells nothing of the disk.
  private func noteTime(of commits: Int, since began: MonotonicTime, _ result: Result<[QueryResult], PostgresError>) {
    if case .success = result { observer.committed(commits, MonotonicTime.now() - began) }
  }

  private func nextPlace() -> UInt64 { places.wrappingAdd(1, ordering: .relaxed).newValue }

  private struct Attempt: Sendable {
    let calls: [StatementCall]
    var freesRowsEarly = false
    let mark: ExpiringKey
    let deadline: MonotonicTime
    let completion: @Sendable (StoreError?) -> Void
    private(set) var number = 1
    private(set) var isPatient = false

    var patient: Attempt {
      var patient = self
      patient.isPatient = true
      return patient
    }

    var next: Attempt {
      var next = self
      next.number += 1
      return next
    }
  }

  private func attempt(_ attempt: Attempt) {
    let lane = attempt.isPatient ? waits : writes
    lane.run(attempt.calls, until: attempt.deadline, freesRowsEarly: attempt.freesRowsEarly) { [self] result in
      conclude(attempt, result)
    }
  }

  private func conclude(_ attempt: Attempt, _ result: Result<[QueryResult], PostgresError>) {
    switch result {
    case .success: attempt.completion(nil)
    case .failure(.lost(let reason)): settle(attempt, reason: reason)
    case .failure(.server(.lockNotAvailable, _)) where !attempt.isPatient: self.attempt(attempt.patient)
    case .failure(let error) where error.isWorthRetrying && attempt.number < Retry.maximumAttempts:
      let next = attempt.next
      after(Retry.delay(afterAttempt: attempt.number), before: attempt.deadline) { isInTime in
        if isInTime { self.attempt(next) } else { attempt.completion(StoreError(error)) }
      }
    case .failure(let error): attempt.completion(StoreError(error))
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
      // The commit that was found is also durable when this is answered.
      .flushing(expiresAt: mark.expiresAt),
    ]
  }

  static func isCommitted(_ results: [QueryResult]) -> Result<Bool, PostgresError> {
    Result { () throws(PostgresError) in try results[1].only { row in row.boolean() } }
  }

  private func after(
    _ delay: Duration, before deadline: MonotonicTime, _ body: @escaping @Sendable (_ isInTime: Bool) -> Void
  ) {
    let time = MonotonicTime.now() + delay
    guard time < deadline else { return body(false) }
    queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds)) { body(true) }
  }
}
