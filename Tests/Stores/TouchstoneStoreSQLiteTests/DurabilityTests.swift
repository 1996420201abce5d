import Glibc
import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// A confirmed commit is there, whatever happens next; an unconfirmed one may be.
struct DurabilityTests {
  @Test func everythingIsThereAfterClosingAndOpening() async throws {
    try await withTemporaryDirectory { directory in
      let key = ExpiringKey.sample()
      let first = try SQLiteStore.open(directory: directory)
      try await first.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)),
        .putEvaluation(EvaluationRecord(key: key)), .useTicket(key),
        .putToken(TokenRecord(key: key, state: .issued, transaction: [1], version: 0)), events: [.sample()])
      await first.close()

      let second = try SQLiteStore.open(directory: directory)
      let records = try await second.attemptRecords(bindingID: "b-1", evaluation: key)
      #expect(records.binding?.version == 1)
      #expect(records.device.version == 1)
      #expect(records.evaluation?.version == 1)
      #expect(try await second.token(key)?.version == 1)
      #expect(try await second.enrolmentRecords(ticket: key).isTicketUsed)
      try await second.commit(events: [.sample()])
      #expect(try await second.events().map(\.sequence) == [1, 2])
      await second.close()
    }
  }

  /// R28, R35: whatever the time of the clock after the start.
  @Test func whatExpiredBeforeASweepCountsAsUsedAfterClosingAndOpening() async throws {
    try await withTemporaryDirectory { directory in
      let key = ExpiringKey.sample()
      let first = try SQLiteStore.open(directory: directory)
      try await first.commit(.putEvaluation(EvaluationRecord(key: key)), .useTicket(key))
      _ = try await first.sweep(before: key.expiresAt + .microseconds(1))
      await first.close()

      let second = try SQLiteStore.open(directory: directory)
      try await StoreConformance.expectSpent([key, .sample(expiresAt: key.expiresAt)], in: second)
      await second.close()
    }
  }

  /// R15
  @Test(arguments: [.none, .until(Sample.now + .seconds(3_600)), .untilSetAnew] as [SecretStanding.Lock])
  func aSecretsLockIsThereAfterClosingAndOpening(_ lock: SecretStanding.Lock) async throws {
    try await withTemporaryDirectory { directory in
      let first = try SQLiteStore.open(directory: directory)
      let profile = ProfileRecord.sample(
        settings: .sample, passcode: .sample(lock: lock), gesture: .sample(lock: .until(Sample.now)))
      try await first.commit(.putProfile(profile))
      await first.close()
      let second = try SQLiteStore.open(directory: directory)
      #expect(try await second.profile() == profile.stored)
      await second.close()
    }
  }

  /// R14, R15: the process dies at any moment, perhaps while an attempt is being verified.
  @Test func everyAttemptThatWasAdmittedIsCountedInACopyOfTheFilesTakenMeanwhile() async throws {
    let rules = SecretRules(ladder: Ladder(rungs: [Ladder.Rung(failures: 100, effect: .disable)]))
    try await withTemporaryDirectory { directory in
      try await withTemporaryDirectory { copy in
        let store = try SQLiteStore.open(directory: directory)
        try await store.commit(.putProfile(.sample("watched", passcode: .unlocked)))
        let admitted = Counter()
        var admittedBeforeCopy = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            for _ in 0..<100 {
              try await admit(by: rules, "watched", in: store)
              admitted.add()
            }
          }
          // Others, so that the writer is at it whenever the files are copied.
          for writer in 0..<4 {
            group.addTask {
              for number in 0..<100 {
                try await store.commit(
                  .putProfile(.sample("\(writer)-\(number)", passcode: .sample(lock: .untilSetAnew))),
                  events: [.sample()])
              }
            }
          }
          try await eventually { admitted.value >= 40 }
          admittedBeforeCopy = admitted.value
          for name in ["touchstone.db", "touchstone.db-wal"] {
            try File.write(try File.read("\(directory)/\(name)"), to: "\(copy)/\(name)")
          }
          try await group.waitForAll()
        }
        #expect(try await store.profile("watched").passcode?.standing.lock == .untilSetAnew)
        await store.close()

        let reopened = try SQLiteStore.open(directory: copy)
        let standing = try #require(try await reopened.profile("watched").passcode?.standing)
        #expect(standing.failures >= admittedBeforeCopy)
        #expect(standing.inFlight == standing.failures)
        #expect((standing.lock == .untilSetAnew) == (standing.failures == 100))
        await reopened.close()
      }
    }
  }

  /// The process dies at any moment: what its files hold then is opened by another one.
  @Test func everyAnsweredCommitIsInACopyOfTheFilesTakenMeanwhile() async throws {
    try await withTemporaryDirectory { directory in
      try await withTemporaryDirectory { copy in
        let store = try SQLiteStore.open(directory: directory)
        let answered = Counter()
        var answeredBeforeCopy = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<8 {
            group.addTask {
              for number in 0..<100 {
                try await store.commit(
                  .putDevice(.sample("phone-\(writer)-\(number)", failures: 1)), events: [.sample()])
                answered.add()
              }
            }
          }
          try await eventually { answered.value >= 200 }
          answeredBeforeCopy = answered.value
          // The log last: it only grows here, as it would on a disk whose power went.
          for name in ["touchstone.db", "touchstone.db-wal"] {
            try File.write(try File.read("\(directory)/\(name)"), to: "\(copy)/\(name)")
          }
          try await group.waitForAll()
        }
        await store.close()

        let reopened = try SQLiteStore.open(directory: copy)
        let events = try await reopened.events()
        #expect(events.count >= answeredBeforeCopy)
        var verifier = EventChainVerifier()
        for event in events { try verifier.verify(event) }
        // Each commit is there whole: as many devices as events.
        var devices = 0
        for writer in 0..<8 {
          for number in 0..<100 { devices += Int(try await reopened.device(id: "phone-\(writer)-\(number)").version) }
        }
        #expect(devices == events.count)
        await reopened.close()
      }
    }
  }

  @Test func commitsThatWaitTogetherShareATransaction() async throws {
    try await withTemporaryDirectory { directory in
      let observed = Mutex((commits: 0, transactions: 0, time: Duration.zero))
      var options = SQLiteStoreOptions()
      options.observer = StoreObserver { commits, time in
        observed.withLock { $0 = ($0.commits + commits, $0.transactions + 1, $0.time + time) }
      }
      let store = try SQLiteStore.open(directory: directory, options: options)
      let count = 1_000
      await withCheckedContinuation { continuation in
        let answered = Counter()
        for number in 0..<count {
          store.commit(ChangeSet(changes: [.putDevice(.sample("phone-\(number)", failures: 1))])) { result in
            #expect(throws: Never.self) { try result.get() }
            if answered.add() == count { continuation.resume() }
          }
        }
      }
      #expect(store.statistics.commits == UInt64(count))
      #expect(store.statistics.transactions < UInt64(count / 10))
      await store.close()
      let (commits, transactions, time) = observed.withLock { $0 }
      #expect(commits == count && UInt64(transactions) == store.statistics.transactions)
      #expect(time > .zero)
    }
  }

  @Test func overTheBoundOfWaitingWritesTheAnswerIsImmediate() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumWaitingWrites = 10
      options.maximumBatchWrites = 2
      let store = try SQLiteStore.open(directory: directory, options: options)
      let outcomes = await withTaskGroup(of: StoreError.Code?.self) { group in
        for number in 0..<500 {
          group.addTask {
            await StoreConformance.errorCode {
              try await store.commit(.putDevice(.sample("phone-\(number)", failures: 1)))
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let refused = outcomes.count { $0 == .unavailable }
      let made = outcomes.count { $0 == nil }
      #expect(made + refused == 500)
      #expect(store.statistics.commits == UInt64(made))
      #expect(store.statistics.overloads == UInt64(refused))
      await store.close()
    }
  }

  /// Checkpoints run beside the commits, however busy the writer is, and the log starts anew.
  @Test func theWriteAheadLogDoesNotGrowWithoutEnd() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.checkpointFrames = 100
      let store = try SQLiteStore.open(directory: directory, options: options)
      let filler = EventDetail(key: "filler", value: String(repeating: "x", count: 40_000))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            for _ in 0..<50 { try await store.commit(events: [.sample(details: [filler])]) }
          }
        }
        try await group.waitForAll()
      }
      let pagesWritten = 8 * 50 * 40_000 / DatabaseFile.pageSize
      #expect(store.statistics.checkpoints > 0)
      #expect(store.statistics.walFrames < pagesWritten)
      await store.close()
      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == nil)
      #expect(verification.verifiedCount == 400)
    }
  }
}

/// Phase one of an attempt, and nothing more.
private func admit(by rules: SecretRules, _ profileID: String, in store: SQLiteStore) async throws {
  var profile = try await store.profile(profileID)
  let standing = try #require(profile.passcode?.standing)
  guard case .verify(_, let counted) = rules.admit(.passcode, standing, at: Sample.now) else {
    Issue.record("refused")
    return
  }
  profile.passcode?.standing = counted
  try await store.commit(.putProfile(profile))
}

extension SecretRecord {
  fileprivate static let unlocked = SecretRecord(
    verifier: [1], standing: SecretStanding(isSet: true), setAt: Sample.now)
}

/// Counts across tasks.
private final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .sequentiallyConsistent) }

  @discardableResult
  func add() -> Int {
    count.add(1, ordering: .sequentiallyConsistent).newValue
  }
}
