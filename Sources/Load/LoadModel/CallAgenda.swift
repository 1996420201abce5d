// When the next call is due: by a rate, or because a person has thought long enough.

/// Times in any order, of which the earliest comes first.
package struct CallAgenda: Sendable {
  /// A binary heap: no time is later than those at twice its index, plus one and plus two.
  private var times: [Duration] = []

  package init() {}

  package var first: Duration? { times.first }

  package mutating func add(_ time: Duration) {
    var index = times.count
    times.append(time)
    while index > 0, times[(index - 1) / 2] > times[index] {
      times.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  package mutating func removeFirst() -> Duration? {
    guard let first = times.first, let last = times.popLast() else { return nil }
    guard !times.isEmpty else { return first }
    times[0] = last
    var index = 0
    while let child = [index * 2 + 1, index * 2 + 2].filter(times.indices.contains).min(by: { times[$0] < times[$1] }),
      times[child] < times[index]
    {
      times.swapAt(index, child)
      index = child
    }
    return first
  }
}
