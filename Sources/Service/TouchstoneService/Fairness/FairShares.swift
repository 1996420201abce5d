// Bounds how much of a limited number one caller, and one application, may hold. Pure.

/// A number of equal permits. No caller and no application may hold the permits that others need.
///
/// A caller may hold at most four times as many as are free, and so may an application with all its callers. An
/// application of a caller may hold at most as many as its caller, and all callers of the application, may still take.
///
/// A caller alone therefore holds four fifths of all, and one application of one caller two thirds. There is always
/// room for a new caller, for another application of the same caller, and for another caller of the same application.
/// If many callers take and give back, those with the most permits wait until they hold as many as the others.
struct FairShares: Sendable {
  /// The limit that one more permit would exceed.
  enum Limit: Sendable, Hashable {
    case caller
    case application
    /// All permits are taken.
    case server
  }

  /// The caller and application of a share. Bytes, because identifiers are compared byte for byte.
  struct Tenant: Sendable, Hashable {
    var caller: [UInt8]
    var application: [UInt8]
  }

  /// A caller alone uses most permits, and a fifth stays for others: two of 12.
  private static let multipleOfFree = 4

  private let capacity: Int
  private let maximumPerApplication: Int
  private(set) var total = 0
  /// Callers and their permits. No count is zero.
  private var callers: [[UInt8]: Int] = [:]
  private var applications: [[UInt8]: Int] = [:]
  private var tenants: [Tenant: Int] = [:]

  /// - Parameter maximumPerApplication: how many an application with all its callers may hold, even if no other needs
  ///   one.
  init(capacity: Int, maximumPerApplication: Int = .max) {
    precondition(capacity > 0, "there must be a permit")
    self.capacity = capacity
    self.maximumPerApplication = maximumPerApplication
  }

  /// How many a tenant of `count` permits may still take.
  private func room(beside count: Int?) -> Int { Self.multipleOfFree * (capacity - total) - (count ?? 0) }

  /// `nil`: the tenant may take one more.
  func limit(for tenant: Tenant) -> Limit? {
    guard total < capacity else { return .server }
    let callerRoom = room(beside: callers[tenant.caller])
    guard callerRoom > 0 else { return .caller }
    guard applications[tenant.application, default: 0] < maximumPerApplication else { return .application }
    let applicationRoom = room(beside: applications[tenant.application])
    return tenants[tenant, default: 0] < min(callerRoom, applicationRoom) ? nil : .application
  }

  /// False: the caller may take no more for any application.
  func hasRoom(forCaller caller: [UInt8]) -> Bool { room(beside: callers[caller]) > 0 }

  mutating func take(for tenant: Tenant) {
    total += 1
    callers[tenant.caller, default: 0] += 1
    applications[tenant.application, default: 0] += 1
    tenants[tenant, default: 0] += 1
  }

  mutating func giveBack(by tenant: Tenant) {
    precondition(tenants[tenant] != nil, "a permit is returned that was not taken")
    total -= 1
    Self.decrement(&callers[tenant.caller])
    Self.decrement(&applications[tenant.application])
    Self.decrement(&tenants[tenant])
  }

  private static func decrement(_ count: inout Int?) {
    count = count == 1 ? nil : count.map { $0 - 1 }
  }
}
