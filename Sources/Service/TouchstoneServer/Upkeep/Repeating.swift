// Work that a service does regularly, beside its calls.

internal import Dispatch

/// Repeats work on a queue of its own until it is cancelled, so the work may wait for the store and the disk.
final class Repeating: Sendable {
  /// Its queue guards the timer. Cancelling is safe from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  let queue: DispatchQueue
  private let interval: DispatchTimeInterval

  /// - Parameter interval: in whole seconds.
  init(every interval: Duration, label: String, qos: DispatchQoS = .utility) {
    queue = DispatchQueue(label: "touchstone.\(label)", qos: qos)
    self.interval = .seconds(Int(interval.components.seconds))
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.activate()
  }

  /// - Parameter atOnce: otherwise the first run is after one interval.
  func begin(atOnce: Bool = false, _ work: @escaping @Sendable () -> Void) {
    timer.setEventHandler(handler: work)
    timer.schedule(deadline: atOnce ? .now() : .now() + interval, repeating: interval)
  }

  /// Begins no other run. One that runs goes on.
  func cancel() {
    timer.cancel()
  }
}
