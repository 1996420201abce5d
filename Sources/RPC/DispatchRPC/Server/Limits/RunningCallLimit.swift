/// How many calls may run at one time where their handlers wait for something slow: a store, a worker. Pure; time is an
/// argument. Calls that run wait in a queue behind their handlers. As CoDel does (RFC 8289), this looks at the fastest
/// of an interval's answers. When even that took longer than the target, and in the interval before as well, there is a
/// standing queue, and only as many calls may run as are answered within the target. One slow interval is a disk or a
/// process that was held up once: what waited meanwhile is served. Otherwise the limit grows again.
struct RunningCallLimit {
  /// Fewer are never refused, however slow their handlers are.
  static let leastLimit = 256
  /// Part of the limit by which it grows, for each interval without a standing queue.
  private static let growthDivisor = 8

  private let target: UInt64
  private let interval: UInt64
  private let greatestLimit: Int
  /// Calls that may run.
  private(set) var limit: Int

  private var intervalBegan: UInt64?
  private var answers = 0
  private var fastest = UInt64.max
  /// The interval before.
  private var wasSlow = false

  init(target: Duration, interval: Duration, greatestLimit: Int) {
    self.target = UInt64(clamping: target.wholeNanoseconds)
    self.interval = max(1, UInt64(clamping: interval.wholeNanoseconds))
    self.greatestLimit = greatestLimit
    limit = greatestLimit
  }

  /// Whether another call may run beside so many. A connection's only call has room beyond the limit, for as many as
  /// are never refused.
  func takes(_ running: Int, _ isConnectionsOnlyCall: Bool) -> Bool {
    running < limit + (isConnectionsOnlyCall ? Self.leastLimit : 0)
  }

  /// A handler has answered the call that began then. An answer in the round in which the call began waited for
  /// nothing, so it shows nothing about the queue.
  mutating func answered(callBegan began: MonotonicTime, now: MonotonicTime) {
    guard began < now else { return }
    let started = intervalBegan ?? now.nanoseconds
    intervalBegan = started
    answers += 1
    fastest = min(fastest, now.nanoseconds - began.nanoseconds)
    let elapsed = now.nanoseconds - min(now.nanoseconds, started)
    if elapsed >= interval { endInterval(after: elapsed, now) }
  }

  private mutating func endInterval(after elapsed: UInt64, _ now: MonotonicTime) {
    let isSlow = fastest > target
    if isSlow, wasSlow {
      let answeredWithinTarget = Double(answers) * Double(target) / Double(elapsed)
      limit = min(greatestLimit, max(Self.leastLimit, Int(answeredWithinTarget)))
    } else if !isSlow {
      limit = min(greatestLimit, limit + max(1, limit / Self.growthDivisor))
    }
    wasSlow = isSlow
    intervalBegan = now.nanoseconds
    answers = 0
    fastest = .max
  }
}
