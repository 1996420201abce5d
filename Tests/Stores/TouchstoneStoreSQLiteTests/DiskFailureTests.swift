import StoreConformance
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// A disk that is full or fails.
struct DiskFailureTests {
  @Test func onAFullDiskCommitsAreUnavailableAndNothingOfThemIsThere() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumPageCount = 400
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await store.commit(.putDevice(.sample("before", failures: 1)), events: [.sample()])
      let tooMuch = EventDraft.sample(details: [
        EventDetail(key: "filler", value: String(repeating: "x", count: 1 << 20))
      ])
      let refusal = await StoreConformance.errorCode {
        try await store.commit(.putDevice(.sample("full", failures: 1)), events: [.sample(), tooMuch])
      }
      #expect(refusal == .unavailable)
      #expect(try await store.device(id: "full").version == 0)

      // There is room for little things: they go on, and the chain has neither gap nor fork.
      try await store.commit(.putDevice(.sample("after", failures: 1)), events: [.sample()])
      #expect(store.statistics.failedTransactions == 1)
      let events = try await store.events()
      var verifier = EventChainVerifier()
      for event in events { try verifier.verify(event) }
      try verifier.conclude(at: await store.eventChainHead())
      #expect(events.count == 2)
      await store.close()
    }
  }

  /// After a failed fsync no one can tell what the disk holds. The posture of a binding that is not there waits for
  /// one, too: how long a commit takes does not tell whether there is one (R37).
  @Test(
    .serialized,
    arguments: [.putDevice(.sample("lost", failures: 1)), .notePosture(bindingID: "", .sample())] as [Change])
  func afterAFailedFsyncTheCommitIsInDoubtAndNothingIsWrittenAnyMore(change: Change) async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.virtualFileSystem = FailingDisk.register()
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await store.commit(.putDevice(.sample("before", failures: 1)), events: [.sample()])

      FailingDisk.failsToSynchronize = true
      let lost = await StoreConformance.errorCode { try await store.commit(change) }
      FailingDisk.failsToSynchronize = false
      let later = await StoreConformance.errorCode {
        try await store.commit(.putDevice(.sample("later", failures: 1)))
      }
      #expect(lost == .inDoubt)
      #expect(later == .unavailable)
      // Memory does not show what may not be on the disk.
      #expect(try await store.device(id: "before").version == 1)
      #expect(try await store.device(id: "lost").version == 0)
      await store.close()

      let reopened = try SQLiteStore.open(directory: directory)
      #expect(try await reopened.device(id: "before").version == 1)
      #expect(try await reopened.device(id: "later").version == 0)
      try await reopened.commit(.putDevice(.sample("later", failures: 1)), events: [.sample()])
      await reopened.close()
    }
  }

  @Test(arguments: [
    (ResultCode.full, StoreError.Code.unavailable, false),
    (.busy, .unavailable, false),
    (ResultCode(rawValue: 778), .unavailable, false),  // SQLITE_IOERR_WRITE
    (.ioError, .inDoubt, true),
    (ResultCode(rawValue: 1_034), .inDoubt, true),  // SQLITE_IOERR_FSYNC
    (.corrupt, .inDoubt, true),
  ])
  func aFailedCommitIsInDoubtUnlessItSurelyWroteNothing(_ code: ResultCode, answer: StoreError.Code, isFinal: Bool) {
    let failure = BatchFailure(inCommit: SQLiteError(code: code, message: "disk"))
    #expect(failure.answer.code == answer)
    #expect(failure.isFinal == isFinal)
  }

  /// Every other one is tried again, and loses nothing.
  @Test(arguments: [
    (ResultCode(rawValue: 1_034), true),  // SQLITE_IOERR_FSYNC
    (ResultCode(rawValue: 778), false), (.full, false), (.busy, false),
  ])
  func aFailedCheckpointIsFinalWhereItsFsyncFailed(_ code: ResultCode, isFinal: Bool) {
    let failure = BatchFailure(inCheckpoint: SQLiteError(code: code, message: "disk"))
    #expect((failure?.isFinal == true) == isFinal)
  }

  @Test(arguments: [
    (ResultCode.full, StoreError.Code.unavailable), (.ioError, .unavailable), (.corrupt, .corrupt),
    (.notADatabase, .corrupt),
  ])
  func aFailureBeforeTheCommitWroteNothing(_ code: ResultCode, answer: StoreError.Code) {
    let failure = BatchFailure(beforeCommit: SQLiteError(code: code, message: "disk"))
    #expect(failure.answer.code == answer)
    #expect(!failure.isFinal)
  }
}
