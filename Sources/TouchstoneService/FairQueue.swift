// A queue in which branches take turns, so that no branch waits for the length of another one. Pure.

/// Items in queues of queues. A path says where an item stands: application, caller, name. At each level the branches that
/// have items take turns, so that one with a thousand items and one with a single item are served alike. Every item costs
/// the same.
///
/// The same calls always make the same order, whatever the keys' hashes are.
struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
  /// At the end of a path: in order of arrival.
  private var items: [Item] = []
  private var branches: [Key: FairQueue] = [:]
  /// The branches that have items, the next one to be served first.
  private var turns: [Key] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// A branch that had none waits until each of the others was served once.
  mutating func append(_ item: Item, at path: ArraySlice<Key>) {
    count += 1
    guard let key = path.first else { return items.append(item) }
    if branches[key] == nil { turns.append(key) }
    branches[key, default: FairQueue()].append(item, at: path.dropFirst())
  }

  /// - Parameter mayBeServed: is asked about the first key of a path. A branch that may not be served keeps its turn.
  mutating func removeFirst(where mayBeServed: (Key) -> Bool = { _ in true }) -> Item? {
    guard items.isEmpty else {
      count -= 1
      return items.removeFirst()
    }
    guard let turn = turns.firstIndex(where: mayBeServed) else { return nil }
    let key = turns.remove(at: turn)
    guard var branch = branches.removeValue(forKey: key) else {
      preconditionFailure("a branch that takes turns is there")
    }
    defer {
      if !branch.isEmpty {
        branches[key] = branch
        turns.append(key)
      }
    }
    count -= 1
    return branch.removeFirst()
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
