import Dispatch

/// The one timer of a pool: fires at the time it was last set to.
///
/// Sendable because a Dispatch source may be set and cancelled from any thread.
final class WakeUpTimer: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  init(queue: DispatchQueue) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .distantFuture)
  }

  /// Call once. Keeps what `onFire` holds until `cancel()`.
  func activate(onFire: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: onFire)
    source.activate()
  }

  /// It never fires again, and lets go of `onFire`.
  func cancel() {
    source.cancel()
  }

  /// `DispatchTime` counts on the same clock as `MonotonicTime`.
  func set(to time: MonotonicTime) {
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds))
  }
}
