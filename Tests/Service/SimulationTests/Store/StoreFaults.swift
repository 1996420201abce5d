// How a store may fail while it keeps its promises.

struct StoreFaults: CustomStringConvertible {
  var conflictPercent = 0
  var unavailablePercent = 0
  var inDoubtPercent = 0
  var stalePercent = 0

  static let none = StoreFaults()
  /// For the operator's log: no caller may ever read it.
  static let privateMessage = "disk 7 is on fire"

  var description: String {
    "conflicts \(conflictPercent) %, unavailable \(unavailablePercent) %, in doubt \(inDoubtPercent) %, stale \(stalePercent) %"
  }
}
