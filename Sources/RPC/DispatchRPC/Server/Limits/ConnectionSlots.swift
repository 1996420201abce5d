// Decides which connections keep their places when places are scarce. Pure.

/// A connection is a stranger's until a call on it was admitted. Strangers of one address (or of one IPv6 /64) may have
/// only so many places, since holding one costs them nothing; connections whose calls were admitted do not count there,
/// as many callers may come by one proxy. At a limit the stranger that came first goes, so that a new caller always
/// gets the time to make its first call. A stranger whose request is with a handler goes only if all others have one,
/// too.
///
/// Callers may have all places but a sixteenth, which stays for those that come. When they have as many, the caller
/// that has most gives one to a caller that has at least two fewer. The other connections of callers are served, and
/// may have to make room as strangers do.
package struct ConnectionSlots {
  /// In the order of arrival; never used again.
  package typealias ID = UInt64

  /// A connection to close, which no longer counts. `keeper` is its event loop.
  struct Eviction: Equatable {
    var id: ID
    var keeper: Int
  }

  /// The caller whose call was admitted first on a connection.
  typealias Owner = String

  enum OnAdmission: Equatable {
    /// The connection is its caller's.
    case keep
    case keepClosing(Eviction)
    /// It has to make room as a stranger's, as long as callers have as many places as they may have.
    case share
  }

  enum OnArrival: Equatable {
    case admit(ID)
    case admitClosing(ID, Eviction)
    case refuse
  }

  private struct Slot {
    var group: SocketAddress?
    var keeper: Int
    /// `nil`: a stranger's.
    var owner: Owner?
    /// A handler has its request.
    var isRunning = false
  }

  /// Connections of one owner, or of strangers, in the order in which they became so; those that are no more stay in it
  /// until they are passed.
  private struct Queue {
    /// Fewer are not worth being sorted out.
    private static let keptIDs = 16

    private let owner: Owner?
    private var ids: [ID] = []
    private var first = 0
    /// How many of them are the owner's.
    private(set) var count = 0

    /// - Parameter owner: `nil`: strangers.
    init(of owner: Owner?) {
      self.owner = owner
    }

    private func has(_ id: ID, _ slots: [ID: Slot]) -> Bool {
      guard let slot = slots[id] else { return false }
      return slot.owner == owner
    }

    mutating func append(_ id: ID) {
      ids.append(id)
      count += 1
    }

    /// The first that runs no request; if there is none, the first.
    mutating func oldest(of slots: [ID: Slot]) -> ID? {
      while first < ids.count, !has(ids[first], slots) { first += 1 }
      let waiting = ids[first...].first { has($0, slots) && slots[$0]?.isRunning == false }
      return waiting ?? (first < ids.count ? ids[first] : nil)
    }

    mutating func newest(of slots: [ID: Slot]) -> ID? {
      while first < ids.count, !has(ids[ids.count - 1], slots) { ids.removeLast() }
      return first < ids.count ? ids[ids.count - 1] : nil
    }

    /// Forgets those that went: each is moved past once on average.
    mutating func removeOne(of slots: [ID: Slot]) {
      count -= 1
      guard ids.count > 2 * count + Self.keptIDs else { return }
      ids = ids[first...].filter { has($0, slots) }
      first = 0
    }
  }

  /// The part of all places that callers leave to connections without an admitted call: 625 of 10,000. One that comes
  /// has to make its first call before as many others come.
  private static let partForArrivals = 16

  private let limit: Int
  private let callerLimit: Int
  private let strangersPerAddress: Int
  private var nextID: ID = 0
  private var slots: [ID: Slot] = [:]
  private var strangers = Queue(of: nil)
  private var groups: [SocketAddress: Queue] = [:]
  /// None is empty.
  private var owners: [Owner: Queue] = [:]

  init(limit: Int, strangersPerAddress: Int) {
    self.limit = limit
    callerLimit = limit - limit / Self.partForArrivals
    self.strangersPerAddress = strangersPerAddress
  }

  var count: Int { slots.count }
  var strangerCount: Int { strangers.count }
  /// Addresses that are remembered: none without a stranger.
  var addressCount: Int { groups.count }
  /// Callers that are remembered: none without a connection.
  var ownerCount: Int { owners.count }

  func holds(_ id: ID) -> Bool { slots[id] != nil }

  /// - Parameter address: `nil` for a Unix socket's client, which has none.
  /// - Parameter keeper: the event loop that is to close it.
  mutating func arrived(from address: SocketAddress?, keeper: Int) -> OnArrival {
    let group = address?.subscriber
    var evicted: ID?
    if let group, let queue = groups[group], queue.count >= strangersPerAddress {
      evicted = groups[group]?.oldest(of: slots)
    } else if slots.count >= limit {
      evicted = strangers.oldest(of: slots)
      if evicted == nil { return .refuse }
    }
    let eviction = evicted.flatMap { evict($0) }
    let id = nextID
    nextID += 1
    slots[id] = Slot(group: group, keeper: keeper)
    strangers.append(id)
    if let group { groups[group, default: Queue(of: nil)].append(id) }
    guard let eviction else { return .admit(id) }
    return .admitClosing(id, eviction)
  }

  /// Descriptors ran out before places did.
  ///
  /// - Returns: `nil` if callers have all places.
  mutating func makeRoom() -> Eviction? {
    strangers.oldest(of: slots).flatMap { evict($0) }
  }

  private mutating func evict(_ id: ID) -> Eviction? {
    guard let keeper = slots[id]?.keeper else { return nil }
    closed(id)
    return Eviction(id: id, keeper: keeper)
  }

  /// It is a caller's from now on, if there is a place. Call this again at the next call if there is none.
  mutating func callAdmitted(_ id: ID, of owner: Owner) -> OnAdmission {
    guard let slot = slots[id], slot.owner == nil else { return .keep }
    var eviction: Eviction?
    if slots.count - strangers.count >= callerLimit {
      eviction = unfairConnection(forOwnerOf: owners[owner]?.count ?? 0).flatMap { evict($0) }
      if eviction == nil { return .share }
    }
    slots[id]?.owner = owner
    forgetStranger(slot.group)
    owners[owner, default: Queue(of: owner)].append(id)
    return eviction.map { .keepClosing($0) } ?? .keep
  }

  /// The newest connection of the caller that has most, so that its older ones go on undisturbed.
  private mutating func unfairConnection(forOwnerOf count: Int) -> ID? {
    guard let most = owners.max(by: { $0.value.count < $1.value.count }), most.value.count >= count + 2 else {
      return nil
    }
    return owners[most.key]?.newest(of: slots)
  }

  /// Nothing happens for one that was closed to make room.
  mutating func setRunning(_ id: ID, _ isRunning: Bool) {
    slots[id]?.isRunning = isRunning
  }

  /// Nothing happens for one that was closed to make room.
  mutating func closed(_ id: ID) {
    guard let slot = slots.removeValue(forKey: id) else { return }
    if let owner = slot.owner { forget(owner) } else { forgetStranger(slot.group) }
  }

  private mutating func forget(_ owner: Owner) {
    guard var queue = owners.removeValue(forKey: owner) else { return }
    queue.removeOne(of: slots)
    if queue.count > 0 { owners[owner] = queue }
  }

  private mutating func forgetStranger(_ group: SocketAddress?) {
    strangers.removeOne(of: slots)
    guard let group, var queue = groups.removeValue(forKey: group) else { return }
    queue.removeOne(of: slots)
    if queue.count > 0 { groups[group] = queue }
  }
}
