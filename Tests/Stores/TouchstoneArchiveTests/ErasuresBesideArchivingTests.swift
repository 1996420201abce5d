import StoreConformance
import StoreModel
import Synchronization
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneArchive

/// Erasures while a file is written: it is written anew only if they took events of it, and archiving goes on.
struct ErasuresBesideArchivingTests {
  private static let eventCount = 3_000

  /// Each event is of a profile of its own. Each read of the log erases another profile.
  private func archive(erasingAtReads erased: @escaping @Sendable (Int) -> Int) async throws -> EventArchiver.Outcome {
    let store = ErasingStore(erased)
    for number in 1...Self.eventCount { try store.append(.at(0, profile: "\(number)")) }
    // The log's last two stay in it.
    for _ in 0..<2 { try store.append(.at(60, profile: "later")) }
    return try await withTemporaryDirectory { directory in
      let archiver = EventArchiver(
        store: store, directory: "\(directory)/archive", maximumEvents: UInt64(Self.eventCount))
      return try archiver.archive(before: Sample.now + .seconds(30))
    }
  }

  @Test func profilesWithoutArchivedEventsKeepNothingInTheLog() async throws {
    let outcome = try await archive { read in Self.eventCount + read }
    guard case .archived(_, 1, UInt64(Self.eventCount)) = outcome else { return #expect(Bool(false), "\(outcome)") }
  }

  @Test func afterAnErasureOfItsEventsTheNextFileIsShorter() async throws {
    let outcome = try await archive { read in Self.eventCount - read }
    guard case .archived(_, 1, UInt64(Self.eventCount / 4)) = outcome else { return #expect(Bool(false), "\(outcome)") }
  }

  /// The first file takes more than twelve reads. Then every second read erases an event with a low number: in time for
  /// each of the other files, of which the shortest has eleven.
  @Test func erasuresOfEventsOfEachFileAreAFailure() async throws {
    let error = await #expect(throws: ArchiveError.self) {
      try await archive { read in read < 13 ? Self.eventCount - read : (read - 11) / 2 }
    }
    #expect(error?.code == .erased)
  }
}

private final class ErasingStore: ModelStore {
  private struct State {
    var records = StoredRecords()
    var reads = 0
  }

  private let state = Mutex(State())
  private let erased: @Sendable (Int) -> Int

  /// - Parameter erased: the number of the profile that is erased at a read, by the number of the read.
  init(_ erased: @escaping @Sendable (Int) -> Int) {
    self.erased = erased
  }

  let lineage = Lineage(rawValue: 1)
  let eventSignal = EventSignal()

  func append(_ event: EventDraft) throws {
    try state.withLock { try $0.records.apply(ChangeSet(events: [event])) }
  }

  func read<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>, _ value: @escaping @Sendable (StoredRecords) -> Value
  ) {
    let result = state.withLock { state in
      Result<Value, StoreError> { () throws(StoreError) in
        if work == .events {
          state.reads += 1
          let profile = ProfileErasure.sample("\(erased(state.reads))")
          try state.records.apply(ChangeSet(changes: [.eraseProfile(profile)]))
        }
        return value(state.records)
      }
    }
    completion(result)
  }

  func write<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ change: @escaping @Sendable (inout StoredRecords) throws(StoreError) -> Value
  ) {
    completion(
      state.withLock { state in
        Result<Value, StoreError> { () throws(StoreError) in try change(&state.records) }
      })
  }

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    write(.events, completion) { records throws(StoreError) in try records.apply(changeSet) }
  }

  func probe(completion: @escaping Completion<Void>) {
    completion(.success(()))
  }

  func close(completion: @escaping @Sendable () -> Void) {
    completion()
  }
}
