import Dispatch
import StoreConformance
import Synchronization
import TemporaryFiles
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// What long lists may cost.
struct ListReaderTests {
  @Test func readsOverTheBoundAreRefusedAtOnceAndTheOthersAnswered() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let reader = try ListReader(path: "\(directory)/touchstone.db")
      let gate = DispatchSemaphore(value: 0)
      let answers = Answers()
      for _ in 0..<ListReader.maximumWaiting + 2 {
        reader.read(answers.append) { _ in
          gate.wait()
          return true
        }
      }
      #expect(answers.refusals == [.unavailable, .unavailable])
      for _ in 0..<ListReader.maximumWaiting { gate.signal() }
      await withCheckedContinuation { continuation in reader.close { continuation.resume() } }
      #expect(answers.refusals.count == 2)
      #expect(answers.successCount == ListReader.maximumWaiting)
    }
  }

  @Test func anApplicationsEventsAreFoundWithoutReadingTheOthers() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
      let plan = try Statement(
        """
        EXPLAIN QUERY PLAN
        SELECT * FROM events WHERE sequence >> 8 = 1 AND application_id = 'a' AND profile_id = 'p' AND sequence > 1
        ORDER BY sequence
        """, on: connection)
      var row = try #require(try plan.next())
      for _ in 0..<3 { _ = row.integer() }
      #expect(row.text().contains("events_of_block (<expr>=? AND application_id=? AND profile_id=? AND rowid>?)"))
    }
  }
}

private final class Answers: Sendable {
  private let results = Mutex<[Result<Bool, StoreError>]>([])

  @Sendable func append(_ result: Result<Bool, StoreError>) {
    results.withLock { $0.append(result) }
  }

  var successCount: Int { results.withLock { $0.count { $0 == .success(true) } } }

  var refusals: [StoreError.Code] {
    results.withLock { results in
      results.compactMap { result in
        guard case .failure(let error) = result else { return nil }
        return error.code
      }
    }
  }
}
