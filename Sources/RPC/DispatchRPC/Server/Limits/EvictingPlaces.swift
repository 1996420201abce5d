/// Decides which members keep their places when places are scarce: connections of a server, or open streams of one
/// kind. Pure.
///
/// A member is a stranger's until a call on its connection was admitted. Strangers of one group (an address, or an IPv6
/// /64) may have only so many places, since holding one costs them nothing; members whose calls were admitted do not
/// count there, as many callers may come by one proxy. At a limit the stranger that came first goes, so that a new
/// caller always gets the time to make its first call. A stranger whose request is with a handler goes only if all
/// others have one, too. Strangers never take a caller's place.
///
/// When callers have as many places as they may have, the caller that has most gives one to a caller that has at least
/// two fewer. A caller therefore never loses a place of its fair share to another.
package struct EvictingPlaces<Member: Sendable, Group: Hashable & Sendable, Owner: Hashable & Sendable>: Sendable {
  /// In the order of arrival; never used again.
  package typealias ID = UInt64

  package struct Limits: Sendable {
    package var all: Int
    /// The places that callers may have together.
    var callers: Int
    var strangersPerGroup: Int
    package var perCaller: Int

    /// A missing limit is the one for all.
    package init(all: Int, callers: Int? = nil, strangersPerGroup: Int? = nil, perCaller: Int? = nil) {
      self.all = all
      self.callers = callers ?? all
      self.strangersPerGroup = strangersPerGroup ?? all
      self.perCaller = perCaller ?? all
    }
  }

  /// A member to end, which no longer counts.
  package struct Eviction: Sendable {
    package var id: ID
    package var member: Member
  }

  package enum OnAdmission: Sendable {
    /// The place is its caller's.
    case keep
    case keepEnding(Eviction)
    /// It has to make room as a stranger's, as long as callers have as many places as they may have.
    case share
  }

  package enum Refusal: Sendable {
    /// The caller has as many as it may have.
    case owner
    /// All places are taken.
    case all
  }

  package enum OnArrival: Sendable {
    case admit(ID)
    case admitEnding(ID, Eviction)
    case refuse(Refusal)
  }

  private struct Place {
    let member: Member
    let group: Group?
    /// `nil`: a stranger's.
    var owner: Owner?
    /// A handler has its request.
    var isRunning = false
  }

  /// The members of one owner, or of strangers, in the order in which they became so; those that are no more stay in
  /// it until they are passed.
  private struct Queue {
    /// Fewer are not worth being sorted out.
    private static var keptIDs: Int { 16 }

    private let owner: Owner?
    private var ids: [ID] = []
    private var first = 0
    /// How many of them are the owner's.
    private(set) var count = 0

    /// - Parameter owner: `nil`: strangers.
    init(of owner: Owner?) {
      self.owner = owner
    }

    private func has(_ id: ID, _ places: [ID: Place]) -> Bool {
      guard let place = places[id] else { return false }
      return place.owner == owner
    }

    mutating func append(_ id: ID) {
      ids.append(id)
      count += 1
    }

    /// The first that runs no request; if there is none, the first.
    mutating func oldest(of places: [ID: Place]) -> ID? {
      while first < ids.count, !has(ids[first], places) { first += 1 }
      let waiting = ids[first...].first { has($0, places) && places[$0]?.isRunning == false }
      return waiting ?? (first < ids.count ? ids[first] : nil)
    }

    mutating func newest(of places: [ID: Place]) -> ID? {
      while first < ids.count, !has(ids[ids.count - 1], places) { ids.removeLast() }
      return first < ids.count ? ids[ids.count - 1] : nil
    }

    /// Forgets those that went: each is moved past once on average.
    mutating func removeOne(of places: [ID: Place]) {
      count -= 1
      guard ids.count > 2 * count + Self.keptIDs else { return }
      ids = ids[first...].filter { has($0, places) }
      first = 0
    }
  }

  private let limits: Limits
  private var nextID: ID = 0
  private var places: [ID: Place] = [:]
  private var strangers = Queue(of: nil)
  private var groups: [Group: Queue] = [:]
  /// None is empty.
  private var owners: [Owner: Queue] = [:]

  package init(_ limits: Limits) {
    self.limits = limits
  }

  /// In the order of arrival.
  package var members: [Member] { places.sorted { $0.key < $1.key }.map(\.value.member) }
  var count: Int { places.count }
  var strangerCount: Int { strangers.count }
  /// Groups that are remembered: none without a stranger.
  var groupCount: Int { groups.count }
  /// Callers that are remembered: none without a member.
  var ownerCount: Int { owners.count }

  func holds(_ id: ID) -> Bool { places[id] != nil }

  /// - Parameter group: `nil` for a Unix socket's client, which has none.
  package mutating func arrived(_ member: Member, in group: Group?) -> OnArrival {
    var evicted: ID?
    if let group, let queue = groups[group], queue.count >= limits.strangersPerGroup {
      evicted = groups[group]?.oldest(of: places)
    } else if places.count >= limits.all {
      evicted = strangers.oldest(of: places)
      if evicted == nil { return .refuse(.all) }
    }
    let eviction = evicted.flatMap { evict($0) }
    let id = enter(Place(member: member, group: group))
    strangers.append(id)
    if let group { groups[group, default: Queue(of: nil)].append(id) }
    return eviction.map { .admitEnding(id, $0) } ?? .admit(id)
  }

  /// A member whose caller is known.
  package mutating func arrived(_ member: Member, of owner: Owner) -> OnArrival {
    let count = owners[owner]?.count ?? 0
    guard count < limits.perCaller else { return .refuse(.owner) }
    var eviction: Eviction?
    if places.count >= limits.all {
      eviction = (strangers.oldest(of: places) ?? unfairPlace(forOwnerOf: count)).flatMap { evict($0) }
      if eviction == nil { return .refuse(.all) }
    }
    let id = enter(Place(member: member, group: nil, owner: owner))
    owners[owner, default: Queue(of: owner)].append(id)
    return eviction.map { .admitEnding(id, $0) } ?? .admit(id)
  }

  private mutating func enter(_ place: Place) -> ID {
    defer { nextID += 1 }
    places[nextID] = place
    return nextID
  }

  /// Descriptors ran out before places did.
  ///
  /// - Returns: `nil` if callers have all places.
  mutating func makeRoom() -> Eviction? {
    strangers.oldest(of: places).flatMap { evict($0) }
  }

  private mutating func evict(_ id: ID) -> Eviction? {
    guard let member = places[id]?.member else { return nil }
    left(id)
    return Eviction(id: id, member: member)
  }

  /// It is a caller's from now on, if there is a place. Call this again at the next call if there is none.
  mutating func callAdmitted(_ id: ID, of owner: Owner) -> OnAdmission {
    guard let place = places[id], place.owner == nil else { return .keep }
    var eviction: Eviction?
    if places.count - strangers.count >= limits.callers {
      eviction = unfairPlace(forOwnerOf: owners[owner]?.count ?? 0).flatMap { evict($0) }
      if eviction == nil { return .share }
    }
    places[id]?.owner = owner
    forgetStranger(place.group)
    owners[owner, default: Queue(of: owner)].append(id)
    return eviction.map { .keepEnding($0) } ?? .keep
  }

  /// Members whose connection had a call admitted meanwhile are its caller's from now on. Otherwise a caller with many
  /// addresses could have a place for each, and no other caller would have fewer.
  ///
  /// - Parameter caller: `nil`: still a stranger's.
  package mutating func review(caller: (Member) -> Owner?) {
    guard strangers.count > 0 else { return }
    for (id, place) in places.sorted(by: { $0.key < $1.key }) where place.owner == nil {
      if let owner = caller(place.member) { _ = callAdmitted(id, of: owner) }
    }
  }

  /// The newest place of the callers that have most, so that older members go on undisturbed.
  private mutating func unfairPlace(forOwnerOf count: Int) -> ID? {
    guard let most = owners.values.lazy.map(\.count).max(), most >= count + 2 else { return nil }
    return owners.keys.filter { owners[$0]?.count == most }.compactMap { owners[$0]?.newest(of: places) }.max()
  }

  /// Nothing happens for one that was ended to make room.
  mutating func setRunning(_ id: ID, _ isRunning: Bool) {
    places[id]?.isRunning = isRunning
  }

  /// Nothing happens for one that was ended to make room.
  package mutating func left(_ id: ID) {
    guard let place = places.removeValue(forKey: id) else { return }
    if let owner = place.owner { forget(owner) } else { forgetStranger(place.group) }
  }

  package mutating func left(where isMember: (Member) -> Bool) {
    if let id = places.first(where: { isMember($0.value.member) })?.key { left(id) }
  }

  private mutating func forget(_ owner: Owner) {
    guard var queue = owners.removeValue(forKey: owner) else { return }
    queue.removeOne(of: places)
    if queue.count > 0 { owners[owner] = queue }
  }

  private mutating func forgetStranger(_ group: Group?) {
    strangers.removeOne(of: places)
    guard let group, var queue = groups.removeValue(forKey: group) else { return }
    queue.removeOne(of: places)
    if queue.count > 0 { groups[group] = queue }
  }
}

extension EvictingPlaces.Eviction: Equatable where Member: Equatable {}
extension EvictingPlaces.OnArrival: Equatable where Member: Equatable {}
extension EvictingPlaces.OnAdmission: Equatable where Member: Equatable {}
