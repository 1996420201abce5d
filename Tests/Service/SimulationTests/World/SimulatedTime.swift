// Time in a simulated world: the step, the wall clock that may jump, and the time that passes.

import TouchstonePolicy

final class SimulatedTime {
  /// Everything happens in a step; within one, no clock moves.
  private(set) var step = 0
  /// The time that the services' clocks show.
  private(set) var now = UnixTime(seconds: 1_700_000_000)
  /// The time that drives timers: never jumps, never goes back.
  private(set) var elapsed = Duration.zero
  /// `now` of each step.
  private var history: [UnixTime]

  init() { history = [now] }

  /// - Parameters:
  ///   - passing: so much time goes by.
  ///   - jump: so much the wall clock is set forward or back beside it.
  func nextStep(passing: Duration, jump: Duration = .zero) {
    step += 1
    elapsed += passing
    now = now + passing + jump
    history.append(now)
  }

  /// The earliest time that the wall clock showed since a step.
  func earliest(since step: Int) -> UnixTime { history[step...].min() ?? now }
  func latest(since step: Int) -> UnixTime { history[step...].max() ?? now }
}
