// A few permits and a queue for them, fair among callers, then applications, then names. Pure.

/// Each permit is held until its tenant leaves. A request that finds no permit waits for one, or is refused if too many
/// wait.
///
/// After each `leave`, call `next` until it returns `nil`. Then no permit stays free that a waiting request may take.
struct FairPermits<Item: Sendable>: Sendable {
  enum Entry: Sendable, Equatable {
    case permitted
    case waiting
    case refused(FairShares.Limit)
  }

  private struct Waiting: Sendable {
    var item: Item
    var tenant: FairShares.Tenant
  }

  private var permits: FairShares
  private var waitingShares: FairShares
  private var queue = FairQueue<[UInt8], Waiting>()

  /// - Parameters:
  ///   - permits: the number of items that may have a permit at one time.
  ///   - permitsPerApplication: the number of an application's items that may have one.
  ///   - waiting: the number of items that may wait.
  init(permits: Int, permitsPerApplication: Int = .max, waiting: Int) {
    self.permits = FairShares(capacity: permits, maximumPerApplication: permitsPerApplication)
    waitingShares = FairShares(capacity: waiting)
  }

  var hasWaiting: Bool { !queue.isEmpty }

  /// - Parameter name: the items of one name have one turn together among the tenant's items.
  mutating func enter(_ item: Item, for tenant: FairShares.Tenant, name: [UInt8] = []) -> Entry {
    // If others of its application wait, it has no room either, because they would take it.
    if permits.limit(for: tenant) == nil {
      permits.take(for: tenant)
      return .permitted
    }
    if let limit = waitingShares.limit(for: tenant) { return .refused(limit) }
    waitingShares.take(for: tenant)
    queue.append(Waiting(item: item, tenant: tenant), at: [tenant.caller, tenant.application, name])
    return .waiting
  }

  mutating func leave(_ tenant: FairShares.Tenant) {
    permits.giveBack(by: tenant)
  }

  /// Gives a permit to a waiting item and returns that item; `nil` if none may take a permit.
  mutating func next() -> Item? {
    let next = queue.removeFirst { [permits] path in
      switch path.count {
      case 1: permits.hasRoom(forCaller: path[0])
      case 2: permits.limit(for: FairShares.Tenant(caller: path[0], application: path[1])) == nil
      default: true
      }
    }
    guard let next else { return nil }
    waitingShares.giveBack(by: next.tenant)
    permits.take(for: next.tenant)
    return next.item
  }

  /// Removes waiting items.
  mutating func removeWaiting(where matches: (Item) -> Bool) -> [Item] {
    let removed = queue.removeAll { matches($0.item) }
    for waiting in removed { waitingShares.giveBack(by: waiting.tenant) }
    return removed.map(\.item)
  }
}
