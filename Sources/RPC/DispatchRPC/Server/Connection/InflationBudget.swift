// How much a connection may inflate before the others get their turn. Pure.

struct InflationBudget {
  /// Some milliseconds' worth: a kilobyte can be a megabyte.
  private static let limitBytes = 1 << 20

  private var usedBytes = 0

  var isUsedUp: Bool { usedBytes >= Self.limitBytes }

  /// True when this has used it up.
  mutating func use(_ count: Int) -> Bool {
    let wasUsedUp = isUsedUp
    usedBytes += count
    return isUsedUp && !wasUsedUp
  }

  mutating func renew() {
    usedBytes = 0
  }
}
