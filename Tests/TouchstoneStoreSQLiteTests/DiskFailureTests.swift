import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// A disk that is full or fails.
struct DiskFailureTests {
  @Test func onAFullDiskCommitsAreUnavailableAndNothingOfThemIsThere() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.maximumPageCount = 100
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

  @Test(arguments: [
    (ResultCode.full, StoreError.Code.unavailable, false),
    (.busy, .unavailable, false),
    (.ioError, .inDoubt, true),
    (ResultCode(rawValue: 1_034), .inDoubt, true),  // SQLITE_IOERR_FSYNC
    (.corrupt, .inDoubt, true),
  ])
  func aFailedCommitIsInDoubtUnlessItSurelyWroteNothing(_ code: ResultCode, answer: StoreError.Code, isFinal: Bool) {
    let failure = BatchFailure(inCommit: SQLiteError(code: code, message: "disk"))
    #expect(failure.answer.code == answer)
    #expect(failure.isFinal == isFinal)
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
