// Which passcode or gesture is hashed next. Pure: requests in, what is to be done out.
//
// A request waits, gets a permit, becomes ready, and is hashed:
//
//     enter ─► waiting ─► permitted ─► ready ─► running ─► finished
//                 │          │
//                 ▼          ▼
//              expired      left
//
// Nothing is counted while a request waits, so a waiting request may be refused. A request with a permit may be counted
// (R14), and then it must be hashed soon, which is why there are few permits. Waiting requests get permits in turns
// (caller, then application, then secret), and ready ones are hashed in turns of callers and applications
// (`ReadySecrets`). A new caller, and a new application of a caller, find a free permit at once (`FairShares`); and
// they wait for no more than the hash that runs, since they had less than their share.
//
// The caller comes first because the service knows it. The application is a name that the caller gives: a caller that
// is granted hundreds of them, or invents them where there is no configuration, has one caller's share all the same.
// The application comes second, also across callers, so that a crowd in one application leaves room for others.
//
// Whether a secret or a profile exists is not known here, and makes no difference (R37).

struct SecretSchedule: Sendable {
  /// Names a request; later ones are greater.
  typealias ID = Int

  enum Kind: UInt8, Sendable, CaseIterable {
    /// An attempt at a secret, which may be a guess.
    case attempt
    /// By primary authentication. Has permits of its own, which no flood of guesses takes.
    case change
  }

  struct Request: Sendable {
    var kind: Kind
    var tenant: FairShares.Tenant
    var name: SecretName
  }

  enum Entry: Sendable, Equatable {
    case permitted(ID)
    case waiting(ID)
    /// Other attempts at the same secret have its share, and a verdict will free some of it (R14).
    case nameHasItsShare
    case refused(Limit)
  }

  enum Limit: Sendable, Equatable {
    case share(FairShares.Limit)
    /// Changes of one secret.
    case secret
  }

  /// The actions that follow from an event.
  struct Actions: Sendable, Equatable {
    /// They have a permit now.
    var granted: [ID] = []
    /// Hash them now. Never more at one time than there are threads.
    var started: [ID] = []
    /// Refuse them: they waited too long.
    var expired: [ID] = []
  }

  // MARK: Bounds

  /// Permits for each thread, for requests whose failure is being counted, that are ready, or that are being hashed.
  /// One application of one caller alone has 8 of 12: more than keep a thread busy while other failures are written.
  /// Two are left for its caller's other applications, and two for other callers: one is hashed, and one becomes ready
  /// meanwhile.
  static func permits(_ kind: Kind) -> Int { kind == .attempt ? 12 : 8 }
  /// Waiting requests for each thread: all attempts are hashed within `longestWait`, at some 25 ms each. One
  /// application of one caller alone may have 128 of 192, which is 3 s of hashing; people wait as long.
  static func waiting(_ kind: Kind) -> Int { kind == .attempt ? 192 : 64 }
  /// More of one secret, with a permit or without, than the standard ladder ever admits without a verdict: five. Fewer
  /// than the permits of one application, so that one hot secret leaves some to its neighbours.
  static let requestsPerSecret = 6
  /// Between two ticks, if anything waits.
  static let interval = Duration.milliseconds(500)
  /// For how many ticks a request waits: 5 s. People give up sooner.
  static let longestWait = 10
  /// By how many hashes for each thread a caller or an application may catch up that had less than its share: so that a
  /// few people who come at once do not wait behind a flood one by one.
  static let creditPerThread = 4
  /// A ready request goes first after this many others for each thread were started in the meantime. At some 30 ms each
  /// this makes 2 s: within the ten after which an admission counts as lost (R14), even on a busy machine.
  static let overtakesPerThread = 64

  // MARK: State

  private enum Stage {
    case waiting
    case permitted
    case ready
    case running
  }

  fileprivate struct Waiting {
    var id: ID
    var since: Int
  }

  /// Everything there is for requests of one kind.
  fileprivate struct Pool {
    var permits: FairPermits<Waiting>
    /// None is zero.
    var names: [SecretName: Int] = [:]

    init(_ kind: Kind, threads: Int) {
      permits = FairPermits(
        permits: threads * SecretSchedule.permits(kind), waiting: threads * SecretSchedule.waiting(kind))
    }
  }

  private let threads: Int
  private var attempts: Pool
  private var changes: Pool
  private var requests: [ID: (request: Request, stage: Stage)] = [:]
  private var ready: ReadySecrets
  private var running = 0
  private var nextID: ID = 0
  private var tickCount = 0

  /// - Parameter threads: how many are hashed at one time.
  init(threads: Int) {
    precondition(threads > 0, "there must be a thread")
    self.threads = threads
    attempts = Pool(.attempt, threads: threads)
    changes = Pool(.change, threads: threads)
    ready = ReadySecrets(
      credit: threads * Self.creditPerThread, maximumOvertakes: threads * Self.overtakesPerThread)
  }

  /// How many requests wait, have a permit and are not hashed yet, and are hashed.
  var load: (waiting: Int, permitted: Int, running: Int) {
    let waiting = requests.values.count { $0.stage == .waiting }
    return (waiting, requests.count - waiting - running, running)
  }

  /// Ticks are needed as long as this is true.
  var hasWaiting: Bool { attempts.permits.hasWaiting || changes.permits.hasWaiting }

  private mutating func withPool<Result>(_ kind: Kind, _ body: (inout Pool) -> Result) -> Result {
    kind == .attempt ? body(&attempts) : body(&changes)
  }

  // MARK: Events

  mutating func enter(_ request: Request) -> Entry {
    let id = nextID
    let entry = withPool(request.kind) { [tickCount] in $0.enter(request, as: id, at: tickCount) }
    switch entry {
    case .permitted: requests[id] = (request, .permitted)
    case .waiting: requests[id] = (request, .waiting)
    case .nameHasItsShare, .refused: return entry
    }
    nextID += 1
    return entry
  }

  /// Its permit is not needed any more.
  mutating func left(_ id: ID) -> Actions {
    end(id, from: .permitted)
    return proceed()
  }

  /// It can be hashed in its place.
  mutating func becameReady(_ id: ID) -> Actions {
    guard let (request, stage) = requests[id], stage == .permitted else {
      preconditionFailure("what is ready has a permit")
    }
    requests[id]?.stage = .ready
    ready.append(id, request)
    return proceed()
  }

  mutating func finished(_ id: ID) -> Actions {
    end(id, from: .running)
    running -= 1
    return proceed()
  }

  /// To be called after each `interval`, if anything waits.
  mutating func ticked() -> Actions {
    tickCount += 1
    var actions = Actions()
    for kind in Kind.allCases {
      let limit = tickCount - Self.longestWait
      let expired = withPool(kind) { $0.permits.removeWaiting { $0.since <= limit } }
      for waiting in expired { remove(waiting.id, from: .waiting) }
      actions.expired += expired.map(\.id)
    }
    return actions
  }

  // MARK: Consequences

  private mutating func end(_ id: ID, from stage: Stage) {
    let request = remove(id, from: stage)
    withPool(request.kind) { $0.permits.leave(request.tenant) }
  }

  @discardableResult
  private mutating func remove(_ id: ID, from stage: Stage) -> Request {
    guard let (request, current) = requests.removeValue(forKey: id), current == stage else {
      preconditionFailure("a request ends once, and not before its time")
    }
    withPool(request.kind) { pool in
      let count = pool.names[request.name, default: 1]
      pool.names[request.name] = count == 1 ? nil : count - 1
    }
    return request
  }

  /// No thread is idle while a hash is ready, and no permit is free while a caller may wait for it.
  private mutating func proceed() -> Actions {
    var actions = Actions()
    for kind in Kind.allCases {
      while let next = withPool(kind, { $0.permits.next() }) {
        requests[next.id]?.stage = .permitted
        actions.granted.append(next.id)
      }
    }
    while running < threads, let id = ready.removeNext() {
      requests[id]?.stage = .running
      running += 1
      actions.started.append(id)
    }
    return actions
  }
}

extension SecretSchedule.Pool {
  fileprivate mutating func enter(
    _ request: SecretSchedule.Request, as id: SecretSchedule.ID, at tick: Int
  ) -> SecretSchedule.Entry {
    let ofName = names[request.name, default: 0]
    guard ofName < SecretSchedule.requestsPerSecret else {
      return request.kind == .attempt ? .nameHasItsShare : .refused(.secret)
    }
    switch permits.enter(SecretSchedule.Waiting(id: id, since: tick), for: request.tenant, name: request.name.bytes) {
    case .permitted:
      names[request.name] = ofName + 1
      return .permitted(id)
    case .waiting:
      names[request.name] = ofName + 1
      return .waiting(id)
    case .refused(let limit):
      return request.kind == .attempt && ofName > 0 ? .nameHasItsShare : .refused(.share(limit))
    }
  }
}
