// Which passcode or gesture is hashed next. Pure: requests in, what is to be done out.
//
// A request waits, gets a place, becomes ready, and is hashed:
//
//     enter ─► waiting ─► placed ─► ready ─► running ─► finished
//                 │          │
//                 ▼          ▼
//              expired      left
//
// Nothing is counted while a request waits, so a waiting request may be refused. What has a place may be counted (R14), and
// then it must be hashed soon: so there are few places. Waiting requests get places in turns (application, then caller,
// then secret), and what is ready is hashed in turns of applications. A new application finds a free place at once, since no
// other one may hold them all; and it waits for no more than the hash that runs, since it had less than its share.
//
// Whether a secret or a profile exists is not known here, and makes no difference (R37).

struct SecretSchedule: Sendable {
  /// Names a request; later ones are greater.
  typealias ID = Int

  enum Kind: UInt8, Sendable, CaseIterable {
    /// By whoever types a secret: guesses, too.
    case attempt
    /// By primary authentication. Has places of its own, which no flood of guesses takes.
    case change
  }

  struct Request: Sendable {
    var kind: Kind
    var holder: FairShares.Holder
    var name: SecretName
  }

  enum Entry: Sendable, Equatable {
    case placed(ID)
    case waiting(ID)
    /// Of an attempt: others at the same secret have its share, and a verdict will free some of it (R14).
    case nameHasItsShare
    case refused(Limit)
  }

  enum Limit: Sendable, Equatable {
    case share(FairShares.Limit)
    /// Changes of one secret.
    case secret
  }

  /// What follows from an event.
  struct Actions: Sendable, Equatable {
    /// They have a place now.
    var granted: [ID] = []
    /// Hash them now. Never more at one time than there are threads.
    var started: [ID] = []
    /// Refuse them: they waited too long.
    var expired: [ID] = []
  }

  // MARK: Bounds

  /// Places for each thread, for requests whose failure is being counted, that are ready, or that are being hashed. An
  /// application alone has half of them: enough to keep a thread busy while other failures are written.
  static func places(_ kind: Kind) -> Int { kind == .attempt ? 8 : 4 }
  /// Waiting requests for each thread. An application alone may have half of them, 128 attempts: some 3 s of hashing, which
  /// is as long as people wait.
  static func waiting(_ kind: Kind) -> Int { kind == .attempt ? 256 : 64 }
  /// More of one secret, with a place or without, than the standard ladder ever admits without a verdict.
  static let requestsPerSecret = 8
  /// Between two ticks, if anything waits.
  static let interval = Duration.milliseconds(500)
  /// For how many ticks a request waits: 5 s. People give up sooner.
  static let patience = 10
  /// By how many hashes for each thread an application may catch up that had less than its share: all that it may have
  /// places for, so that a few people who come at once do not wait behind a flood one by one.
  static let creditPerThread = 4
  /// What is ready goes first after so many others for each thread were started in the meantime. At some 30 ms each this
  /// makes 2 s: within the ten after which an admission counts as lost (R14), even on a busy machine.
  static let overtakesPerThread = 64

  // MARK: State

  private enum Stage {
    case waiting
    case placed
    case ready
    case running
  }

  fileprivate struct Waiting {
    var id: ID
    var since: Int
  }

  /// Everything there is for requests of one kind.
  fileprivate struct Pool {
    var places: FairShares
    var waitingShares: FairShares
    var waiting = FairQueue<[UInt8], Waiting>()
    /// None is zero.
    var names: [SecretName: Int] = [:]

    init(_ kind: Kind, threads: Int) {
      places = FairShares(capacity: threads * SecretSchedule.places(kind))
      waitingShares = FairShares(capacity: threads * SecretSchedule.waiting(kind))
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
    precondition(threads > 0, "somebody has to verify")
    self.threads = threads
    attempts = Pool(.attempt, threads: threads)
    changes = Pool(.change, threads: threads)
    ready = ReadySecrets(
      credit: threads * Self.creditPerThread, maximumOvertakes: threads * Self.overtakesPerThread)
  }

  /// Ticks are needed as long as this is true.
  var hasWaiting: Bool { !attempts.waiting.isEmpty || !changes.waiting.isEmpty }

  private mutating func withPool<Result>(_ kind: Kind, _ body: (inout Pool) -> Result) -> Result {
    kind == .attempt ? body(&attempts) : body(&changes)
  }

  // MARK: Events

  mutating func enter(_ request: Request) -> Entry {
    let id = nextID
    let entry = withPool(request.kind) { [tickCount] in $0.enter(request, as: id, at: tickCount) }
    switch entry {
    case .placed: requests[id] = (request, .placed)
    case .waiting: requests[id] = (request, .waiting)
    case .nameHasItsShare, .refused: return entry
    }
    nextID += 1
    return entry
  }

  /// Its place is not needed any more.
  mutating func left(_ id: ID) -> Actions {
    end(id, from: .placed)
    return proceed()
  }

  /// It can be hashed in its place.
  mutating func becameReady(_ id: ID) -> Actions {
    guard let (request, stage) = requests[id], stage == .placed else {
      preconditionFailure("what is ready has a place")
    }
    requests[id]?.stage = .ready
    // An application's changes do not wait behind its attempts.
    ready.append(id, of: [request.kind.rawValue] + request.holder.application)
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
      let limit = tickCount - Self.patience
      let expired = withPool(kind) { $0.waiting.removeAll { $0.since <= limit } }
      for waiting in expired {
        let request = remove(waiting.id, from: .waiting)
        withPool(kind) { $0.waitingShares.giveBack(by: request.holder) }
        actions.expired.append(waiting.id)
      }
    }
    return actions
  }

  // MARK: What follows

  private mutating func end(_ id: ID, from stage: Stage) {
    let request = remove(id, from: stage)
    withPool(request.kind) { $0.places.giveBack(by: request.holder) }
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

  /// No thread is idle while something is ready, and no place is free for which somebody may wait.
  private mutating func proceed() -> Actions {
    var actions = Actions()
    for kind in Kind.allCases {
      while let id = withPool(kind, { $0.nextToBePlaced() }) {
        guard let holder = requests[id]?.request.holder else { preconditionFailure("what waits is known") }
        withPool(kind) {
          $0.waitingShares.giveBack(by: holder)
          $0.places.take(for: holder)
        }
        requests[id]?.stage = .placed
        actions.granted.append(id)
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
    // Where others of its application wait, it has no room either: they would have it.
    if places.hasRoom(for: request.holder.application) {
      names[request.name] = ofName + 1
      places.take(for: request.holder)
      return .placed(id)
    }
    if let limit = waitingShares.limit(for: request.holder) {
      return request.kind == .attempt && ofName > 0 ? .nameHasItsShare : .refused(.share(limit))
    }
    names[request.name] = ofName + 1
    waitingShares.take(for: request.holder)
    let path = [request.holder.application, request.holder.caller, request.name.bytes]
    waiting.append(SecretSchedule.Waiting(id: id, since: tick), at: path[...])
    return .waiting(id)
  }

  fileprivate mutating func nextToBePlaced() -> SecretSchedule.ID? {
    waiting.removeFirst { [places] in places.hasRoom(for: $0) }?.id
  }
}

/// What is ready to be hashed, by start-time fair queueing (Goyal, Vin and Cheng 1996), where every hash costs 1: each
/// application has a time of its own that its requests advance, and the request that is earliest by its application's time
/// goes first. An application that had less than its share is behind the others' time, and catches up by its credit.
private struct ReadySecrets {
  private struct Entry {
    var id: SecretSchedule.ID
    var time: Int
    /// How many were started before it came.
    var starts: Int
  }

  private let credit: Int
  private let maximumOvertakes: Int
  /// In the order in which they came. There are no more than places.
  private var entries: [Entry] = []
  /// Of the request that was started last.
  private var time = 0
  /// When the next request of each is due; one that is not here has all its credit.
  private var dueTimes: [[UInt8]: Int] = [:]
  private var starts = 0

  init(credit: Int, maximumOvertakes: Int) {
    self.credit = credit
    self.maximumOvertakes = maximumOvertakes
  }

  mutating func append(_ id: SecretSchedule.ID, of application: [UInt8]) {
    let earliest = time - credit
    let due = max(earliest, dueTimes[application] ?? earliest)
    // However many applications there are, those that have all their credit again are forgotten.
    if dueTimes.count >= maximumOvertakes { dueTimes = dueTimes.filter { $0.value > earliest } }
    dueTimes[application] = due + 1
    entries.append(Entry(id: id, time: due, starts: starts))
  }

  mutating func removeNext() -> SecretSchedule.ID? {
    guard let oldest = entries.first else { return nil }
    let isOverdue = starts - oldest.starts >= maximumOvertakes
    let next = isOverdue ? 0 : entries.indices.min { entries[$0].time < entries[$1].time } ?? 0
    let entry = entries.remove(at: next)
    time = max(time, entry.time)
    starts += 1
    return entry.id
  }
}
