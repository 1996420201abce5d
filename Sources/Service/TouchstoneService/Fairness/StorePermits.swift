// Gives callers permits for work that is expensive, most of it for the store, so that many calls of one caller do not
// delay the others.

internal import DispatchRPC
internal import Synchronization

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

  /// How many calls with small requests may wait for a permit: more than a second of event reads.
  static let maximumWaiting = 512

  private let kind: Kind
  private let permits: Mutex<FairPermits<Waiter>>

  private struct Waiter: Sendable {
    let tenant: FairShares.Tenant
    let call: any IncomingContext
    let continuation: UnsafeContinuation<Result<StorePermit, RequestError>, Never>
  }

  init(_ kind: Kind) {
    self.kind = kind
    permits = Mutex(
      FairPermits(
        permits: kind.permits, permitsPerApplication: kind.permitsPerApplication, waiting: kind.waiting))
  }

  /// Waits for a permit. Throws RESOURCE_EXHAUSTED if too many wait. If the caller is gone when the permit comes, the
  /// permit goes to the next call at once.
  func permit(
    for call: any IncomingContext, of caller: Caller, applicationID: String
  ) async throws(RequestError) -> StorePermit {
    guard !call.isCancelled else { throw .callerIsGone }
    let tenant = FairShares.Tenant(caller: Array(caller.identity.utf8), application: Array(applicationID.utf8))
    let result: Result<StorePermit, RequestError> = await withUnsafeContinuation { continuation in
      let waiter = Waiter(tenant: tenant, call: call, continuation: continuation)
      switch permits.withLock({ $0.enter(waiter, for: tenant) }) {
      case .permitted: continuation.resume(returning: .success(StorePermit(of: tenant, from: self)))
      case .waiting: break
      case .refused(let limit): continuation.resume(returning: .failure(.noPermit(for: caller, kind, limit)))
      }
    }
    return try result.get()
  }

  /// Waits for a permit for a unary call. From now until the permit ends, the call takes no room from calls that have
  /// no such queue.
  func permit<Response>(
    for exchange: Exchange<Response>, applicationID: String
  ) async throws(RequestError) -> StorePermit {
    let call = exchange.call
    call.startWaiting()
    do throws(RequestError) {
      let permit = try await permit(for: call, of: exchange.caller, applicationID: applicationID)
      permit.ends(waitOf: call)
      return permit
    } catch {
      call.stopWaiting()
      throw error
    }
  }

  /// A permit became free, so one waiting call may take it.
  fileprivate func end(_ tenant: FairShares.Tenant) {
    var leaving = tenant
    while let next = leave(leaving) {
      guard next.call.isCancelled else {
        return next.continuation.resume(returning: .success(StorePermit(of: next.tenant, from: self)))
      }
      next.continuation.resume(returning: .failure(.callerIsGone))
      leaving = next.tenant
    }
  }

  private func leave(_ tenant: FairShares.Tenant) -> Waiter? {
    permits.withLock { permits in
      permits.leave(tenant)
      return permits.next()
    }
  }
}

/// The right to do one piece of a kind of work, until it is ended or dropped.
final class StorePermit: Sendable {
  private struct State: Sendable {
    var isEnded = false
    /// Its wait ends with the permit.
    var call: (any IncomingCall)?
  }

  private let tenant: FairShares.Tenant
  private let permits: StorePermits
  private let state = Mutex(State())

  fileprivate init(of tenant: FairShares.Tenant, from permits: StorePermits) {
    (self.tenant, self.permits) = (tenant, permits)
  }

  deinit {
    end()
  }

  fileprivate func ends(waitOf call: any IncomingCall) {
    state.withLock { $0.call = call }
  }

  /// The permit goes to the next one that waits. From any thread; nothing happens from the second time on.
  func end() {
    let (isFirst, call) = state.withLock { state in
      defer { state = State(isEnded: true) }
      return (!state.isEnded, state.call)
    }
    guard isFirst else { return }
    call?.stopWaiting()
    permits.end(tenant)
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
