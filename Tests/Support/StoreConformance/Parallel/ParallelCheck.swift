// The invariants of many parallel callers: as tasks on one store, on stores that share a database, and in processes.

public import Testing
internal import TouchstonePolicy
public import TouchstoneStore

extension StoreConformance {
  /// Participants act at once, and each reports its outcome; the verdict is over all reports. They learn of each other
  /// only through the store, so they may be in different processes.
  public struct ParallelCheck: Sendable, CustomTestStringConvertible {
    /// Reads as a sentence about the store.
    public let name: String
    /// In all processes together.
    let participants: Int
    /// Needs an empty database, which nothing else uses.
    public let prepare: @Sendable (any Store) async throws -> Void
    /// Answers in one line.
    let participate: @Sendable (Participant) async throws -> String
    /// Over the participants' reports, in their order.
    let judge: @Sendable ([String], any Store) async throws -> Void

    public var testDescription: String { name }

    init(
      _ name: String, participants: Int, prepare: @escaping @Sendable (any Store) async throws -> Void = { _ in },
      participate: @escaping @Sendable (Participant) async throws -> String,
      judge: @escaping @Sendable ([String], any Store) async throws -> Void
    ) {
      self.name = name
      self.participants = participants
      self.prepare = prepare
      self.participate = participate
      self.judge = judge
    }
  }

  struct Participant: Sendable {
    let number: Int
    let store: any Store
  }

  public static let parallelChecks =
    parallelRecordChecks + parallelBindingChecks + secretBudgetChecks + parallelRemovalChecks + parallelLogChecks
}

extension StoreConformance.ParallelCheck {
  /// Each participant's report, by its number.
  public typealias Outcomes = [Int: String]

  /// All in this process: on stores that share one empty database.
  public func run(_ stores: [any Store]) async throws {
    try await prepare(stores[0])
    try await conclude(try await outcomes(on: stores), on: stores[stores.count - 1])
  }

  /// Returns the outcomes of one process of so many: each has its share of the participants.
  public func outcomes(
    on stores: [any Store], inProcess process: Int = 0, of processes: Int = 1
  ) async throws -> Outcomes {
    try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for number in stride(from: process, to: participants, by: processes) {
        let participant = StoreConformance.Participant(
          number: number, store: stores[number / processes % stores.count])
        group.addTask { (number, try await participate(participant)) }
      }
      return try await group.reduce(into: [:]) { outcomes, said in outcomes[said.0] = said.1 }
    }
  }

  public func conclude(_ outcomes: Outcomes, on store: any Store) async throws {
    let said = try (0..<participants).map { number in
      try #require(outcomes[number], "participant \(number) said nothing")
    }
    try await judge(said, store)
  }
}

extension StoreConformance.Participant {
  static let done = "done"

  /// `done`, or `conflict` where the store refused it for that.
  func outcome(of call: (any Store) async throws(StoreError) -> Void) async throws(StoreError) -> String {
    do throws(StoreError) {
      try await call(store)
      return Self.done
    } catch {
      guard error.code == .conflict else { throw error }
      return "conflict"
    }
  }

  /// A store that is serializable may have refused all of a commit's retries: nothing was done, either.
  private static let mostRefusals = 100

  /// Reads, decides and commits until nothing came in between.
  func untilNoConflict<Value>(_ body: (any Store) async throws -> Value) async throws -> Value {
    var refusals = 0
    while true {
      try Task.checkCancellation()
      do {
        return try await body(store)
      } catch let error as StoreError where error.code == .unavailable && refusals < Self.mostRefusals {
        refusals += 1
      } catch let error as StoreError where error.code == .conflict {
        // A store that answers at once gives the others their turn here.
        await Task.yield()
      }
    }
  }
}

extension [String] {
  /// The number of times that each report occurs.
  var tally: [String: Int] {
    reduce(into: [:]) { tally, said in tally[said, default: 0] += 1 }
  }

  /// One was done, and all others were refused because of it.
  func expectOneWinner(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(tally == ["done": 1, "conflict": count - 1], sourceLocation: sourceLocation)
  }

  /// The numbers in each report, which spaces separate.
  var numbers: [[Int]] {
    map { said in said.split(separator: " ").compactMap { Int($0) } }
  }
}

extension ExpiringKey {
  /// The same in every process.
  static func numbered(_ number: Int, expiresAt: UnixTime = Sample.now + .seconds(120)) -> ExpiringKey {
    // Spread over all of the space, as random ones are.
    let spread = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
    return ExpiringKey(expiresAt: expiresAt, id: UniqueID(high: spread, low: UInt64(number)))
  }
}
