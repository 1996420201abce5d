/// Detects a client whose PINGs come too often (gRFC A8). Pure; time is an argument. PINGs that come too soon after
/// another are strikes, unless the server has sent HEADERS or DATA in between: bandwidth probes, as C-core and Go send
/// them with every few answers, are always in order.
struct PingStrikes {
  /// As in gRPC's implementations: C-core's and Java's clients ping once or twice too often before they learn better.
  private static let tolerated = 2
  /// Between PINGs of a client that has no calls and is not permitted to ping then (A8, as in gRPC's implementations).
  private static let intervalWithoutCalls = Duration.seconds(2 * 60 * 60)

  private let configuration: RPCServerConfiguration.PingEnforcement
  private var lastPing: MonotonicTime?
  private var strikes = 0

  init(_ configuration: RPCServerConfiguration.PingEnforcement) {
    self.configuration = configuration
  }

  /// HEADERS or DATA went out.
  @inline(__always)
  mutating func forgive() {
    lastPing = nil
    strikes = 0
  }

  enum OnPing: Equatable {
    case tolerated
    /// Send GOAWAY ENHANCE_YOUR_CALM with `tooManyPings`.
    case tooMany
  }

  /// The debug data that tells gRPC's clients to ping half as often from now on.
  static let tooManyPings: StaticString = "too_many_pings"

  mutating func received(at now: MonotonicTime, hasCalls: Bool) -> OnPing {
    defer { lastPing = now }
    let interval =
      hasCalls || configuration.permitsWithoutCalls ? configuration.minimumInterval : Self.intervalWithoutCalls
    guard let lastPing, now < lastPing.advanced(by: interval) else { return .tolerated }
    strikes += 1
    return strikes > Self.tolerated ? .tooMany : .tolerated
  }
}
