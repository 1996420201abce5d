// Who gets a place among a server's connections when they are scarce: pure.

/// A connection is a stranger's until a call on it was admitted. Strangers of one address (or of one IPv6 /64) may have only so many
/// places, since holding one costs them nothing; connections whose calls were admitted do not count there, as many callers may come
/// by one proxy. Where a limit is reached the stranger that came first goes, so that a caller who comes always gets the time to make
/// its first call; only where callers have all places is a connection refused.
struct ConnectionSlots {
  /// In the order of arrival; never used again.
  typealias ID = UInt64

  enum OnArrival: Equatable {
    case admit(ID)
    /// And close that one, which no longer counts. `keeper` is what was said of it when it came.
    case admitClosing(ID, evicted: ID, keeper: Int)
    case refuse
  }

  private struct Slot {
    var group: SocketAddress?
    var keeper: Int
    var isStranger = true
  }

  /// Strangers in the order of arrival; those that went, or are none any more, stay in it until they are passed.
  private struct Queue {
    /// Fewer are not worth being sorted out.
    private static let keptIDs = 16

    private var ids: [ID] = []
    private var first = 0
    /// Of strangers.
    private(set) var count = 0

    mutating func append(_ id: ID) {
      ids.append(id)
      count += 1
    }

    mutating func oldest(of slots: [ID: Slot]) -> ID? {
      while first < ids.count, slots[ids[first]]?.isStranger != true { first += 1 }
      return first < ids.count ? ids[first] : nil
    }

    /// Forgets those that went: each is moved past once on average.
    mutating func removeOne(of slots: [ID: Slot]) {
      count -= 1
      guard ids.count > 2 * count + Self.keptIDs else { return }
      ids = ids[first...].filter { slots[$0]?.isStranger == true }
      first = 0
    }
  }

  private let limit: Int
  private let strangersPerAddress: Int
  private var nextID: ID = 0
  private var slots: [ID: Slot] = [:]
  private var strangers = Queue()
  private var groups: [SocketAddress: Queue] = [:]

  init(limit: Int, strangersPerAddress: Int) {
    self.limit = limit
    self.strangersPerAddress = strangersPerAddress
  }

  var count: Int { slots.count }
  var strangerCount: Int { strangers.count }
  /// Addresses that are remembered: none without a stranger.
  var addressCount: Int { groups.count }

  func holds(_ id: ID) -> Bool { slots[id] != nil }

  /// - Parameter address: `nil` for a Unix socket's client, which has none.
  /// - Parameter keeper: who is to close it.
  mutating func arrived(from address: SocketAddress?, keeper: Int) -> OnArrival {
    let group = address?.subscriber
    var evicted: ID?
    if let group, let queue = groups[group], queue.count >= strangersPerAddress {
      evicted = groups[group]?.oldest(of: slots)
    } else if slots.count >= limit {
      evicted = strangers.oldest(of: slots)
      if evicted == nil { return .refuse }
    }
    let evictedKeeper = evicted.flatMap { slots[$0]?.keeper }
    if let evicted { closed(evicted) }
    let id = nextID
    nextID += 1
    slots[id] = Slot(group: group, keeper: keeper)
    strangers.append(id)
    if let group { groups[group, default: Queue()].append(id) }
    guard let evicted, let evictedKeeper else { return .admit(id) }
    return .admitClosing(id, evicted: evicted, keeper: evictedKeeper)
  }

  /// It is a caller's from now on.
  mutating func callAdmitted(_ id: ID) {
    guard let slot = slots[id], slot.isStranger else { return }
    slots[id]?.isStranger = false
    forgetStranger(slot.group)
  }

  /// Nothing happens for one that was closed to make room.
  mutating func closed(_ id: ID) {
    guard let slot = slots.removeValue(forKey: id) else { return }
    if slot.isStranger { forgetStranger(slot.group) }
  }

  private mutating func forgetStranger(_ group: SocketAddress?) {
    strangers.removeOne(of: slots)
    guard let group, var queue = groups.removeValue(forKey: group) else { return }
    queue.removeOne(of: slots)
    if queue.count > 0 { groups[group] = queue }
  }
}
