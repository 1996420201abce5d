// The events that are about to happen, in an order that chance chooses.

/// Holds everything that waits: answers of the store, verdicts of the workers, timers. Work of an event loop waits
/// there (`SimulatedEventLoop`), because that keeps its order.
final class Schedule {
  struct Task {
    /// In the trace.
    var name: String
    /// Not before; see `SimulatedTime.elapsed`.
    var due: Duration
    /// `nil`: outlives every process.
    var life: Life?
    var run: () -> Void
  }

  private var tasks: [Task] = []

  func add(_ task: Task) { tasks.append(task) }

  /// A process died.
  func removeAll(of life: Life) { tasks.removeAll { $0.life === life } }

  func removeAll() { tasks = [] }

  var isEmpty: Bool { tasks.isEmpty }
  var earliest: Duration? { tasks.lazy.map(\.due).min() }

  func readyCount(at elapsed: Duration) -> Int { tasks.lazy.count { $0.due <= elapsed } }

  /// The one at this place among those that are ready.
  func takeReady(_ place: Int, at elapsed: Duration) -> Task? {
    var place = place
    for (index, task) in tasks.enumerated() where task.due <= elapsed {
      if place == 0 { return tasks.remove(at: index) }
      place -= 1
    }
    return nil
  }
}
