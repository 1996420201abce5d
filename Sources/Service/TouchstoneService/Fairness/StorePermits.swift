// Gives callers permits for work that is expensive, most of it for the store, so that many calls of one caller do not
// delay the others.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneStore

/// The permits for one kind of work. A call may need many permits, and waits for each one.
final class StorePermits: Sendable {
  enum Kind: String {
    case eventReads = "reads of the audit log"
    case bindingReads = "reads of bindings"
    case erasures
    case keyProofs = "attestations"

    /// How many calls have a permit at one time. The store's other work waits for them.
    var permits: Int {
      switch self {
      // Each read looks at `EventPage.maximumRows`, which takes some 3 ms.
      case .eventReads: 2
      // The PostgreSQL store has four connections for lists. One page takes a round trip.
      case .bindingReads: 4
      // Each erasure searches the whole log, and locks its end for 256 events at a time. Two share an fsync.
      case .erasures: 2
      // Each chain takes a worker a millisecond. The workers hash passcodes, too.
      case .keyProofs: 2
      }
    }

    /// How many calls may wait for a permit. One caller alone may have four fifths of them.
    var waiting: Int {
      switch self {
      case .eventReads, .bindingReads, .erasures: StorePermits.maximumWaiting
      // A binding that waits holds its request and its certificates, up to 256 KiB; so all of them hold 16 MiB, and
      // have their permits within a tenth of a second.
      case .keyProofs: 64
      }
    }

    /// How many calls of one application have a permit at one time.
    var permitsPerApplication: Int {
      switch self {
      case .eventReads, .bindingReads, .keyProofs: permits
      // An erasure of a long history takes seconds, so two of one application would keep all others waiting.
      case .erasures: 1
      }
    }
  }

  typealias Completion<Value> = @Sendable (Result<Value, StoreError>) -> Void

  /// How many calls with small requests may wait for a permit: more than a second of event reads.
  static let maximumWaiting = 512

  private let kind: Kind
  private let permits: Mutex<FairPermits<@Sendable () -> Void>>

  init(_ kind: Kind) {
    self.kind = kind
    permits = Mutex(
      FairPermits(
        permits: kind.permits, permitsPerApplication: kind.permitsPerApplication, waiting: kind.waiting))
  }

  /// Runs `work` when the caller gets a permit. The permit lasts until `work` completes. If too many wait, throws
  /// RESOURCE_EXHAUSTED and runs nothing.
  ///
  /// - Parameter isWanted: if it returns false when the permit comes, nothing runs, neither `work` nor `completion`.
  func take<Value: Sendable>(
    for caller: Caller, applicationID: String, isWanted: @escaping @Sendable () -> Bool,
    work: @escaping @Sendable (@escaping Completion<Value>) -> Void,
    completion: @escaping Completion<Value>
  ) throws(RequestError) {
    let tenant = FairShares.Tenant(caller: Array(caller.identity.utf8), application: Array(applicationID.utf8))
    let permit: @Sendable () -> Void = { [self] in
      guard isWanted() else { return ended(tenant) }
      work { [self] result in
        ended(tenant)
        completion(result)
      }
    }
    switch permits.withLock({ $0.enter(permit, for: tenant) }) {
    case .permitted: permit()
    case .waiting: break
    case .refused(let limit): throw .noPermit(for: caller, kind, limit)
    }
  }

  /// As above, for a unary call: if its caller is gone, nothing runs. Until its permit is over, the call takes no room
  /// from calls that have no such queue.
  func take<Value: Sendable, Response>(
    for exchange: Exchange<Response>, applicationID: String,
    work: @escaping @Sendable (@escaping Completion<Value>) -> Void,
    then body: @escaping @Sendable (Value) throws(RequestError) -> Void
  ) throws(RequestError) {
    exchange.call.startWaiting()
    try take(
      for: exchange.caller, applicationID: applicationID, isWanted: { !exchange.call.isCancelled }, work: work,
      completion: exchange.then { value throws(RequestError) in
        exchange.call.stopWaiting()
        try body(value)
      })
  }

  private func ended(_ tenant: FairShares.Tenant) {
    let next = permits.withLock { permits in
      permits.leave(tenant)
      // A permit became free, so one waiting item may take it.
      return permits.next()
    }
    next?()
  }
}

extension RequestError {
  fileprivate static func noPermit(
    for caller: Caller, _ kind: StorePermits.Kind, _ limit: FairShares.Limit
  ) -> RequestError {
    RequestError(
      code: .resourceExhausted, message: "too many \(kind.rawValue) at once; try again",
      quota: Quota(
        subject: limit == .server ? .server : .caller(caller),
        limit: "as many \(kind.rawValue) at once as leave room for others"))
  }
}
