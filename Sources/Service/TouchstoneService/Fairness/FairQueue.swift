// A queue in which branches take turns, so that a long branch does not delay a short one. Pure.

/// Items in queues of queues. A path gives an item's place: caller, application, name. At each level the branches with
/// items take turns, so a branch with a thousand items is served as often as a branch with one. Every item costs the
/// same.
///
/// The order follows from the calls alone, not from the keys' hashes.
struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
  /// The items at the end of a path, in order of arrival.
  private var items: [Item] = []
  private var branches: [Key: FairQueue] = [:]
  /// The branches with items, in the order in which they are served.
  private var turns: [Key] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// A branch without items goes to the end: each of the others is served once before it.
  mutating func append(_ item: Item, at path: ArraySlice<Key>) {
    count += 1
    guard let key = path.first else { return items.append(item) }
    if branches[key] == nil { turns.append(key) }
    branches[key, default: FairQueue()].append(item, at: path.dropFirst())
  }

  /// - Parameter mayBeServed: called with the beginnings of paths. A branch that may not be served keeps its turn.
  mutating func removeFirst(where mayBeServed: ([Key]) -> Bool = { _ in true }) -> Item? {
    removeFirst(behind: [], where: mayBeServed)
  }

  private mutating func removeFirst(behind path: [Key], where mayBeServed: ([Key]) -> Bool) -> Item? {
    guard items.isEmpty else {
      count -= 1
      return items.removeFirst()
    }
    for turn in turns.indices {
      let key = turns[turn]
      let path = path + [key]
      guard mayBeServed(path), let item = branches[key]?.removeFirst(behind: path, where: mayBeServed) else { continue }
      count -= 1
      turns.remove(at: turn)
      if branches[key]?.isEmpty == false { turns.append(key) } else { branches[key] = nil }
      return item
    }
    return nil
  }

  /// Removes the items that match, in the order of turns and arrival.
  mutating func removeAll(where matches: (Item) -> Bool) -> [Item] {
    var removed = items.filter(matches)
    items.removeAll(where: matches)
    for key in turns {
      guard var branch = branches.removeValue(forKey: key) else { continue }
      removed += branch.removeAll(where: matches)
      if !branch.isEmpty { branches[key] = branch }
    }
    turns.removeAll { branches[$0] == nil }
    count -= removed.count
    return removed
  }
}
