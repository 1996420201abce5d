// A blocking interface to the store, for a thread that may wait.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Must be used on a thread that has no other work.
struct WaitingStore {
  /// One read takes a millisecond or two.
  static let pageLimit = 512

  private let store: any Store

  init(_ store: any Store) {
    self.store = store
  }

  func head() throws(ArchiveError) -> EventChain.Head {
    try wait { store.eventChainHead(completion: $0) }
  }

  func start() throws(ArchiveError) -> EventChain.Head {
    try wait { store.eventChainStart(completion: $0) }
  }

  func events(
    matching filter: EventFilter = EventFilter(applicationID: ""), after sequence: UInt64
  ) throws(ArchiveError) -> EventPage {
    try wait { store.events(matching: filter, afterSequence: sequence, limit: Self.pageLimit, completion: $0) }
  }

  func claimArchiving(by claimant: UniqueID, for duration: Duration) throws(ArchiveError) -> Bool {
    try wait { store.claimArchiving(by: claimant, for: duration, completion: $0) }
  }

  func sweep(before time: UnixTime) throws(ArchiveError) -> SweepResult {
    try wait { store.sweep(before: time, completion: $0) }
  }

  /// False if the log is no longer as it was archived.
  func drop(_ archived: ArchivedEvents) throws(ArchiveError) -> Bool {
    switch blockingAnswer(of: { store.drop(archived, completion: $0) }) {
    case .success: return true
    case .failure(let error) where error.code == .conflict: return false
    case .failure(let error): throw ArchiveError(error)
    }
  }

  private func wait<Value: Sendable>(_ ask: StoreCall<Value>) throws(ArchiveError) -> Value {
    switch blockingAnswer(of: ask) {
    case .success(let value): return value
    case .failure(let error): throw ArchiveError(error)
    }
  }
}
