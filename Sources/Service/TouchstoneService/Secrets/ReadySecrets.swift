// Which passcode or gesture of those that are ready is hashed next. Pure.

/// Start-time fair queueing (Goyal, Vin and Cheng 1996), where every hash costs 1, of callers and of applications at
/// once: a request is as late as its caller or its application, whichever is later, and the earliest one goes first.
/// Neither a caller with hundreds of applications nor an application with many callers has more than one share.
///
/// Requests that are equally late take turns: of applications first, since all may be one caller's, then of callers,
/// then of secrets. The second request at a secret waits for the first ones at others.
struct ReadySecrets: Sendable {
  private struct Entry {
    var id: SecretSchedule.ID
    var caller: ShareTimes.Flow
    var application: ShareTimes.Flow
    var name: SecretName
    /// How many of the same secret were ready before it.
    var rank: Int
    /// How many were started before it came.
    var starts: Int
  }

  private let maximumOvertakes: Int
  /// In the order in which they came. There are no more than permits.
  private var entries: [Entry] = []
  private var starts = 0
  /// Callers and applications by one time, so that they compare.
  private var shares: ShareTimes
  /// Each by a time of their own: else all applications of a single caller were equally far behind it.
  private var callers: ShareTimes
  private var applications: ShareTimes

  /// - Parameters:
  ///   - credit: hashes by which a caller or an application may catch up that had less than its share.
  ///   - maximumOvertakes: a request is the next after so many others that came later.
  init(credit: Int, maximumOvertakes: Int) {
    self.maximumOvertakes = maximumOvertakes
    shares = ShareTimes(credit: credit)
    callers = shares
    applications = shares
  }

  mutating func append(_ id: SecretSchedule.ID, _ request: SecretSchedule.Request) {
    let (kind, tenant) = (request.kind, request.tenant)
    entries.append(
      Entry(
        id: id, caller: ShareTimes.Flow(level: .caller, kind: kind, key: tenant.caller),
        application: ShareTimes.Flow(level: .application, kind: kind, key: tenant.application), name: request.name,
        rank: entries.count { $0.name == request.name }, starts: starts))
  }

  mutating func removeNext() -> SecretSchedule.ID? {
    guard let oldest = entries.first else { return nil }
    let isOverdue = starts - oldest.starts >= maximumOvertakes
    let next = isOverdue ? 0 : entries.indices.min { order(entries[$0]) < order(entries[$1]) } ?? 0
    let entry = entries.remove(at: next)
    starts += 1
    shares.started(entry.caller)
    shares.started(entry.application)
    callers.started(entry.caller)
    applications.started(entry.application)
    return entry.id
  }

  private func order(_ entry: Entry) -> (share: Int, application: Int, caller: Int, rank: Int) {
    (
      max(shares.lateness(of: entry.caller), shares.lateness(of: entry.application)),
      applications.lateness(of: entry.application), callers.lateness(of: entry.caller), entry.rank
    )
  }
}

/// How far each flow is ahead of its share, or behind it, in hashes.
private struct ShareTimes {
  struct Flow: Hashable {
    enum Level { case caller, application }

    var level: Level
    /// Changes do not wait behind attempts of the same caller or application.
    var kind: SecretSchedule.Kind
    var key: [UInt8]
  }

  /// Flows that are remembered before those are forgotten that have all their credit again.
  private static let keptFlows = 256

  private let credit: Int
  /// The latest time of a flow when a request of it was started.
  private var time = 0
  /// When each flow's next one is due; a flow that is not here has all its credit.
  private var times: [Flow: Int] = [:]

  init(credit: Int) {
    self.credit = credit
  }

  private func due(_ flow: Flow) -> Int { max(time - credit, times[flow] ?? time - credit) }

  func lateness(of flow: Flow) -> Int { due(flow) - time }

  mutating func started(_ flow: Flow) {
    let due = due(flow)
    time = max(time, due)
    times[flow] = due + 1
    if times.count > Self.keptFlows { times = times.filter { $0.value > time - credit } }
  }
}
