/// Names an endpoint: an address, a server of a list. Its meaning is known to the code that makes the connections.
public struct EndpointID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The one of a pool that has a single target.
  public static let only = EndpointID(0)

  public let number: Int

  public init(_ number: Int) {
    self.number = number
  }

  public static func < (left: EndpointID, right: EndpointID) -> Bool {
    left.number < right.number
  }

  public var description: String {
    "endpoint \(number)"
  }
}

/// The back-off and load of one endpoint.
struct Endpoint {
  let id: EndpointID
  /// False once a resolution no longer names it: it takes nothing new, and is forgotten with its last connection.
  var isListed = true
  var backoff: Backoff
  var counts = PhaseCounts()
  /// Leases on its connections, whatever these are doing.
  var leased = 0
  /// Slots of the connections that take leases.
  var serving: [Int] = []

  init(_ id: EndpointID, backoff: BackoffConfiguration) {
    self.id = id
    self.backoff = Backoff(configuration: backoff)
  }

  /// Connecting or serving.
  var open: Int { counts.connecting + counts.serving }
}

/// How many connections are in each phase.
struct PhaseCounts: Hashable {
  var connecting = 0
  var serving = 0
  var goingAway = 0
  var closing = 0

  var total: Int { connecting + serving + goingAway + closing }

  mutating func count(_ phase: ConnectionGroup.Phase, by change: Int) {
    switch phase {
    case .connecting: connecting += change
    case .serving: serving += change
    case .goingAway: goingAway += change
    case .closing: closing += change
    }
  }
}
