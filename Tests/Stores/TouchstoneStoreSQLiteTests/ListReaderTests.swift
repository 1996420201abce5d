import Dispatch
import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// The permitted cost of long lists.
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

  /// How many revoked ones there are makes no difference: those are kept for good.
  @Test(arguments: [
    (RecordReader.activePage, "active_bindings_of_profile (application_id=? AND profile_id=? AND binding_id>?)"),
    (RecordReader.activeCount, "INDEX active_bindings_of_profile (application_id=? AND profile_id=?)"),
    (RecordReader.profileIDs, "profiles USING PRIMARY KEY (application_id=? AND profile_id>?)"),
    (RecordReader.page, "INDEX bindings_of_profile (application_id=? AND profile_id=? AND binding_id>?)"),
    (
      """
      SELECT * FROM events WHERE sequence > max(1, (SELECT sequence FROM event_archive)) AND sequence <= 255
        AND application_id = 'a' AND profile_id = 'p' ORDER BY sequence
      """, "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
    ),
  ])
  func whatIsAskedForIsFoundWithoutReadingTheOthers(_ query: String, index: String) async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
      let plan = Statement("EXPLAIN QUERY PLAN \(query)", on: connection)
      var steps: [String] = []
      while var row = try plan.next() {
        for _ in 0..<3 { _ = row.integer() }
        steps.append(row.text())
      }
      #expect(steps.first?.contains(index) == true, "\(steps)")
      #expect(!steps.contains { $0.contains("ORDER BY") })
    }
  }

  @Test func aListOfEventsWaitsForNoErasuresSearch() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      let gate = DispatchSemaphore(value: 0)
      store.erasureSearches.read({ (_: Result<Void, StoreError>) in }) { _ in gate.wait() }
      async let erased: Void = store.commit(.eraseProfile(.sample("nobody")))
      #expect(try await store.events() == [])
      gate.signal()
      try await erased
      await store.close()
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
