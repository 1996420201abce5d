// A store in memory that keeps every promise of `Store`, until a test tells it how to fail.

import Dispatch
import StoreModel
import Synchronization
import TouchstonePolicy
import TouchstoneStore

final class MemoryStore: Store {
  /// When completions run: before the call returns, as from a cache, or later, on a thread of the store's own.
  enum Delivery {
    case immediate
    case later
  }

  private struct State {
    var records = StoredRecords()
    /// What reads are answered from while it is there: as it was then.
    var staleRecords: StoredRecords?
    var commitFailures = Failures()
    var readFailure: StoreError?
    /// What was read may not be durable.
    var confirmationFailure: StoreError?
    /// Runs once, right before the next commit is compared.
    var beforeCommit: (@Sendable (inout StoredRecords) -> Void)?
    var commitCount = 0
    /// Reads of events that a test has not let go on; `nil`: it holds none.
    var heldEventReads: [@Sendable () -> Void]?
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

  // MARK: What tests see and switch

  var records: StoredRecords { state.withLock { $0.records } }
  /// Refused ones, too.
  var commitCount: Int { state.withLock { $0.commitCount } }

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

  /// From now on reads of events are answered when a test says so.
  func holdEventReads() {
    state.withLock { $0.heldEventReads = [] }
  }

  /// How many reads of events wait for the test.
  var heldEventReadCount: Int { state.withLock { $0.heldEventReads?.count ?? 0 } }

  /// Answers the oldest. False: there was none.
  func answerEventRead() -> Bool {
    let read = state.withLock { state in
      state.heldEventReads?.isEmpty == false ? state.heldEventReads?.removeFirst() : nil
    }
    read?()
    return read != nil
  }

  /// What is read may be lost again.
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

  /// What no caller may ever read.
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

  func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    read(completion) { $0.attempt(of: subject, vendor: vendor, evaluation: evaluation) }
  }

  func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>
  ) {
    read(completion) { $0.enrolment(applicationID, profileID, deviceID: deviceID, vendor: vendor, ticket: ticket) }
  }

  func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>) {
    read(completion) { $0.device(id, of: vendor) }
  }

  func activeBinding(applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>) {
    read(completion) { $0.activeBinding(applicationID, onDevice: deviceID) }
  }

  func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    read(completion) { $0.token(key) }
  }

  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>
  ) {
    read(completion) {
      $0.bindings(applicationID, profileID, includingRevoked: includingRevoked, after: after, limit: limit)
    }
  }

  func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    let answer: @Sendable () -> Void = { [self] in
      read(completion) { $0.eventPage(matching: filter, afterSequence: afterSequence, limit: limit) }
    }
    let isHeld = state.withLock { state in
      state.heldEventReads?.append(answer)
      return state.heldEventReads != nil
    }
    if !isHeld { answer() }
  }

  func eventChainHead(completion: @escaping Completion<EventChain.Head>) {
    read(completion) { $0.chain.head }
  }

  func eventChainStart(completion: @escaping Completion<EventChain.Head>) {
    read(completion) { $0.eventStart }
  }

  func signAccounts(with keys: AccountKeys, completion: @escaping Completion<Void>) {
    state.withLock { $0.records.signAccounts(with: keys) }
    deliver(.success(()), to: completion)
  }

  func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>) {
    let result = state.withLock { state -> Result<Void, StoreError> in
      do throws(StoreError) {
        return .success(try state.records.drop(archived))
      } catch {
        return .failure(error)
      }
    }
    deliver(result, to: completion)
  }

  func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>) {
    deliver(.success(true), to: completion)
  }

  let eventSignal = EventSignal()

  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    let result = state.withLock { state -> Result<Void, StoreError> in
      state.commitCount += 1
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

  func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>) {
    let result = state.withLock { state -> Result<SweepResult, StoreError> in
      if state.isClosed { return .failure(Self.closed) }
      return .success(state.records.sweep(before: time))
    }
    deliver(result, to: completion)
  }

  func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    let result = state.withLock { state -> Result<[UInt8], StoreError> in
      if state.isClosed { return .failure(Self.closed) }
      return .success(state.records.keyCheck(initially: check))
    }
    deliver(result, to: completion)
  }

  func close(completion: @escaping @Sendable () -> Void) {
    state.withLock { $0.isClosed = true }
    queue.async(execute: completion)
  }

  // MARK: Answering

  private static let closed = StoreError(code: .unavailable, message: "closed")

  private func read<Value: Sendable>(_ completion: @escaping Completion<Value>, _ value: (StoredRecords) -> Value) {
    let result = state.withLock { state -> Result<Value, StoreError> in
      if state.isClosed { return .failure(Self.closed) }
      if let failure = state.readFailure { return .failure(failure) }
      return .success(value(state.staleRecords ?? state.records))
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
