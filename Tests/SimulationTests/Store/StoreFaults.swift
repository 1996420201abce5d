// How a store may fail while it keeps its promises.

struct StoreFaults: CustomStringConvertible {
  var conflictPercent = 0
  var unavailablePercent = 0
  var inDoubtPercent = 0
  var stalePercent = 0

  static let none = StoreFaults()

  var description: String {
    "conflicts \(conflictPercent) %, unavailable \(unavailablePercent) %, in doubt \(inDoubtPercent) %, stale \(stalePercent) %"
  }
}
