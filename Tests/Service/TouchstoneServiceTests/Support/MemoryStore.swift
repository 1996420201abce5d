// A store in memory that keeps every promise of `Store`, until a test makes it fail.

import Dispatch
import StoreModel
import Synchronization
import TouchstoneStore

final class MemoryStore: ModelStore {
  /// The work that a test can hold up.
  enum HeldWork {
    case eventReads
    case bindingReads
    /// Commits that erase.
    case erasures
  }

  /// When completions run: before the call returns, as from a cache, or later, on a thread of the store's own.
  enum Delivery {
    case immediate
    case later
  }

  private struct State {
    var records = StoredRecords()
    /// The records that answer reads while they are set: a copy from that moment.
    var staleRecords: StoredRecords?
    var commitFailures = Failures()
    var readFailure: StoreError?
    /// The error of confirmations: records that were read may not be durable.
    var confirmationFailure: StoreError?
    /// Runs once, right before the next commit is compared.
    var beforeCommit: (@Sendable (inout StoredRecords) -> Void)?
    var reads: [StoreWork] = []
    var changeSets: [ChangeSet] = []
    /// Work that a test has not released; work of a kind that is not here is not held.
    var held: [HeldWork: [@Sendable () -> Void]] = [:]
    var isClosed = false
  }

  private struct Failures {
    var error: StoreError?
    /// `nil`: for ever.
    var remaining: Int?
    /// So many succeed before.
    var skipped = 0

    mutating func next() -> StoreError? {
      guard let error, remaining != 0 else { return nil }
      guard skipped == 0 else {
        skipped -= 1
        return nil
      }
      remaining = remaining.map { $0 - 1 }
      return error
    }
  }

  private let state = Mutex(State())
  private let delivery: Delivery
  private let queue = DispatchQueue(label: "test.store")

  init(delivery: Delivery = .immediate) {
    self.delivery = delivery
  }

  let lineage = Lineage(rawValue: 0x4C69_6E65)

  // MARK: State and switches for tests

  var records: StoredRecords { state.withLock { $0.records } }
  /// The functions of `Store` that were called, without their parameters.
  var reads: [StoreWork] { state.withLock { $0.reads } }
  /// Refused ones, too.
  var changeSets: [ChangeSet] { state.withLock { $0.changeSets } }
  var commitCount: Int { changeSets.count }

  /// - Parameters:
  ///   - skipped: so many succeed before.
  ///   - times: `nil`: for ever.
  func failCommits(
    _ code: StoreError.Code, remedy: StoreError.Remedy? = nil, after skipped: Int = 0, times: Int? = nil
  ) {
    let error = StoreError(code: code, remedy: remedy, message: Self.privateMessage)
    state.withLock { $0.commitFailures = Failures(error: error, remaining: times, skipped: skipped) }
  }

  func failReads(_ code: StoreError.Code) {
    state.withLock { $0.readFailure = StoreError(code: code, message: Self.privateMessage) }
  }

  /// From now on such work is done when a test releases it.
  func hold(_ work: HeldWork) {
    state.withLock { $0.held[work] = [] }
  }

  /// How much of it waits for the test.
  func heldCount(_ work: HeldWork) -> Int { state.withLock { $0.held[work]?.count ?? 0 } }

  /// Does the oldest, or the newest. False: there was none.
  func go(_ work: HeldWork, newest: Bool = false) -> Bool {
    let chosen = state.withLock { state -> (@Sendable () -> Void)? in
      guard let held = state.held[work], !held.isEmpty else { return nil }
      return state.held[work]?.remove(at: newest ? held.count - 1 : 0)
    }
    chosen?()
    return chosen != nil
  }

  private func whenLet(_ work: HeldWork, _ body: @escaping @Sendable () -> Void) {
    let isHeld = state.withLock { state in
      state.held[work]?.append(body)
      return state.held[work] != nil
    }
    if !isHeld { body() }
  }

  /// Makes confirmations fail: records that are read may be lost again.
  func failConfirmations(_ code: StoreError.Code) {
    state.withLock { $0.confirmationFailure = StoreError(code: code, message: Self.privateMessage) }
  }

  /// As if they were archived.
  func dropEvents(through sequence: UInt64) {
    state.withLock { state in
      guard let end = state.records.events.first(where: { $0.sequence == sequence }) else { return }
      try? state.records.drop(
        ArchivedEvents(
          start: state.records.eventStart, end: EventChain.Head(sequence: sequence, hash: end.hash),
          unerasedThrough: state.records.chain.head.sequence, claimant: .random()))
    }
  }

  func recover() {
    state.withLock { state in
      state.commitFailures = Failures()
      state.readFailure = nil
      state.confirmationFailure = nil
    }
  }

  /// The text that no caller may ever read.
  static let privateMessage = "disk /var/lib/secret is full"

  /// From now on reads answer as things stand now, until a commit finds that they changed since: a stale cache.
  func freezeReads() {
    state.withLock { $0.staleRecords = $0.records }
  }

  /// Something that happens between a call's last read and its commit.
  func beforeNextCommit(_ body: @escaping @Sendable (inout StoredRecords) -> Void) {
    state.withLock { $0.beforeCommit = body }
  }

  /// Something that another replica did.
  func change(_ changes: Change...) throws(StoreError) {
    try state.withLock { state throws(StoreError) in try state.records.apply(ChangeSet(changes: changes)) }
  }

  // MARK: Store

  let eventSignal = EventSignal()

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    guard changeSet.erasures.isEmpty else { return whenLet(.erasures) { [self] in apply(changeSet, completion) } }
    apply(changeSet, completion)
  }

  private func apply(_ changeSet: ChangeSet, _ completion: @escaping Completion<Void>) {
    let result = state.withLock { state -> Result<Void, StoreError> in
      state.changeSets.append(changeSet)
      if state.isClosed { return .failure(Self.closed) }
      let before = state.beforeCommit
      state.beforeCommit = nil
      before?(&state.records)
      do throws(StoreError) {
        if let failure = state.commitFailures.next() { throw failure }
        try state.records.apply(changeSet)
        return .success(())
      } catch {
        if error.code == .conflict { state.staleRecords = nil }
        return .failure(error)
      }
    }
    deliver(result, to: completion)
    eventSignal.ring()
  }

  func confirm(completion: @escaping Completion<Void>) {
    let failure = state.withLock { $0.confirmationFailure }
    deliver(failure.map { .failure($0) } ?? .success(()), to: completion)
  }

  func probe(completion: @escaping Completion<Void>) {
    let result = state.withLock { state -> Result<Void, StoreError> in
      if state.isClosed { return .failure(Self.closed) }
      if let failure = state.readFailure ?? state.commitFailures.next() { return .failure(failure) }
      return .success(())
    }
    deliver(result, to: completion)
  }

  func close(completion: @escaping @Sendable () -> Void) {
    state.withLock { $0.isClosed = true }
    queue.async(execute: completion)
  }

  // MARK: Answering

  private static let closed = StoreError(code: .unavailable, message: "closed")

  func read<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>, _ value: @escaping @Sendable (StoredRecords) -> Value
  ) {
    let answer: @Sendable () -> Void = { [self] in
      let result = state.withLock { state -> Result<Value, StoreError> in
        state.reads.append(work)
        if state.isClosed { return .failure(Self.closed) }
        if let failure = state.readFailure { return .failure(failure) }
        return .success(value(state.staleRecords ?? state.records))
      }
      deliver(result, to: completion)
    }
    switch work {
    case .bindings: whenLet(.bindingReads, answer)
    case .events: whenLet(.eventReads, answer)
    default: answer()
    }
  }

  func write<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ change: @escaping @Sendable (inout StoredRecords) throws(StoreError) -> Value
  ) {
    let result = state.withLock { state -> Result<Value, StoreError> in
      if state.isClosed { return .failure(Self.closed) }
      do throws(StoreError) { return .success(try change(&state.records)) } catch { return .failure(error) }
    }
    deliver(result, to: completion)
  }

  private func deliver<Value: Sendable>(_ result: Result<Value, StoreError>, to completion: @escaping Completion<Value>)
  {
    switch delivery {
    case .immediate: completion(result)
    case .later: queue.async { completion(result) }
    }
  }
}
