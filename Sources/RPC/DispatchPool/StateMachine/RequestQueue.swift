/// Names a waiting request; later ones are greater.
struct RequestID: Hashable, Comparable {
  let number: UInt64

  static func < (left: RequestID, right: RequestID) -> Bool {
    left.number < right.number
  }
}

/// Requests that wait for a lease, first come, first served.
///
/// An array in order of arrival. A request that leaves from the middle leaves a gap until gaps outnumber requests, so
/// that every operation is cheap: append and take the first O(1), cancel O(log n), all amortised.
struct RequestQueue {
  struct Request: Equatable {
    let id: RequestID
    let deadline: MonotonicTime?
    let waitsForReady: Bool
  }

  struct Entry {
    let request: Request
    var isWaiting = true
  }

  /// Gaps that are not worth closing.
  private static let toleratedGaps = 32

  private(set) var entries: [Entry] = []
  /// The place of the first request that waits; those before it have left.
  private var head = 0
  private var nextNumber: UInt64 = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  var first: Request? { isEmpty ? nil : entries[head].request }

  /// Looks at every request: for a timer, not for each call.
  var earliestDeadline: MonotonicTime? {
    entries[head...].lazy.filter(\.isWaiting).compactMap(\.request.deadline).min()
  }

  mutating func append(deadline: MonotonicTime?, waitsForReady: Bool) -> RequestID {
    let id = RequestID(number: nextNumber)
    nextNumber += 1
    entries.append(Entry(request: Request(id: id, deadline: deadline, waitsForReady: waitsForReady)))
    count += 1
    return id
  }

  /// False if it had left already.
  @discardableResult
  mutating func remove(_ id: RequestID) -> Bool {
    guard let index = index(of: id), entries[index].isWaiting else { return false }
    entries[index].isWaiting = false
    count -= 1
    closeGaps()
    return true
  }

  /// Removes the requests that match, in order of arrival.
  mutating func removeAll(where matches: (Request) -> Bool) -> [Request] {
    var removed: [Request] = []
    for index in head..<entries.count where entries[index].isWaiting && matches(entries[index].request) {
      entries[index].isWaiting = false
      removed.append(entries[index].request)
    }
    count -= removed.count
    closeGaps()
    return removed
  }

  private func index(of id: RequestID) -> Int? {
    var low = head
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].request.id < id { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].request.id == id ? low : nil
  }

  private mutating func closeGaps() {
    while head < entries.count, !entries[head].isWaiting { head += 1 }
    guard entries.count > 2 * count + Self.toleratedGaps else { return }
    entries.removeSubrange(..<head)
    entries.removeAll { !$0.isWaiting }
    head = 0
  }
}
