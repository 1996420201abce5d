// How much of a bounded number one application, and one caller in it, may hold. Pure.

/// A number of equal things, of which each application may hold as many as are left for the others, and each caller in it
/// half as many.
///
/// One application alone holds at most half of all. A second one takes half of what is left; and as the first one gives
/// back and takes anew, both come to a third, n of them to one part in n + 1 each. So there is room for an application that
/// comes new, and nobody has to be sent away for it.
struct FairShares: Sendable {
  /// What stands in the way of one more.
  enum Limit: Sendable, Hashable {
    case application
    case caller
    /// All together hold as many as there are.
    case server
  }

  /// Whose share it is. Bytes, since identifiers are compared byte for byte.
  struct Holder: Sendable, Hashable {
    var application: [UInt8]
    var caller: [UInt8]
  }

  private let capacity: Int
  private(set) var total = 0
  /// None is zero.
  private var applications: [[UInt8]: Int] = [:]
  private var holders: [Holder: Int] = [:]

  init(capacity: Int) {
    precondition(capacity > 0, "somebody is to be served")
    self.capacity = capacity
  }

  private var free: Int { capacity - total }

  /// `nil`: the holder may take one more.
  func limit(for holder: Holder) -> Limit? {
    guard free > 0 else { return .server }
    guard hasRoom(for: holder.application) else { return .application }
    return 2 * holders[holder, default: 0] < free ? nil : .caller
  }

  func hasRoom(for application: [UInt8]) -> Bool {
    applications[application, default: 0] < free
  }

  mutating func take(for holder: Holder) {
    total += 1
    applications[holder.application, default: 0] += 1
    holders[holder, default: 0] += 1
  }

  mutating func giveBack(by holder: Holder) {
    guard let ofApplication = applications[holder.application], let own = holders[holder] else {
      preconditionFailure("what is given back was taken")
    }
    total -= 1
    applications[holder.application] = ofApplication == 1 ? nil : ofApplication - 1
    holders[holder] = own == 1 ? nil : own - 1
  }
}
