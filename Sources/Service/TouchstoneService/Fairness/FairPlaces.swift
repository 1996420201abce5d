// A few places and a queue for them, fair among callers, then applications, then names. Pure.

/// Each place is held until its holder leaves. A request that finds no place waits for one, or is refused if too many wait.
///
/// After each `leave`, call `next` until it returns `nil`. Then no place stays free that a waiting request may take.
struct FairPlaces<Item: Sendable>: Sendable {
  enum Entry: Sendable, Equatable {
    case placed
    case waiting
    case refused(FairShares.Limit)
  }

  private struct Waiting: Sendable {
    var item: Item
    var holder: FairShares.Holder
  }

  private var places: FairShares
  private var waitingShares: FairShares
  private var queue = FairQueue<[UInt8], Waiting>()

  /// - Parameters:
  ///   - places: the number of items that may have a place at one time.
  ///   - placesPerApplication: the number of an application's items that may have one.
  ///   - waiting: the number of items that may wait.
  init(places: Int, placesPerApplication: Int = .max, waiting: Int) {
    self.places = FairShares(capacity: places, maximumPerApplication: placesPerApplication)
    waitingShares = FairShares(capacity: waiting)
  }

  var hasWaiting: Bool { !queue.isEmpty }

  /// - Parameter name: the items of one name have one turn together among the holder's items.
  mutating func enter(_ item: Item, for holder: FairShares.Holder, name: [UInt8] = []) -> Entry {
    // If others of its application wait, it has no room either, because they would take it.
    if places.limit(for: holder) == nil {
      places.take(for: holder)
      return .placed
    }
    if let limit = waitingShares.limit(for: holder) { return .refused(limit) }
    waitingShares.take(for: holder)
    queue.append(Waiting(item: item, holder: holder), at: [holder.caller, holder.application, name])
    return .waiting
  }

  mutating func leave(_ holder: FairShares.Holder) {
    places.giveBack(by: holder)
  }

  /// Gives a place to a waiting item and returns that item; `nil` if none may take a place.
  mutating func next() -> Item? {
    let next = queue.removeFirst { [places] path in
      switch path.count {
      case 1: places.hasRoom(forCaller: path[0])
      case 2: places.limit(for: FairShares.Holder(caller: path[0], application: path[1])) == nil
      default: true
      }
    }
    guard let next else { return nil }
    waitingShares.giveBack(by: next.holder)
    places.take(for: next.holder)
    return next.item
  }

  /// Removes waiting items.
  mutating func removeWaiting(where matches: (Item) -> Bool) -> [Item] {
    let removed = queue.removeAll { matches($0.item) }
    for waiting in removed { waitingShares.giveBack(by: waiting.holder) }
    return removed.map(\.item)
  }
}
