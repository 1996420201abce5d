internal import DispatchRPC
internal import MonotonicClock

/// A thread of the load. The calls' tasks prefer it, and its connections live on it: from its due time to its booking,
/// a call changes no thread.
// Guard: `loop` is thread-safe, and constant.
final class LoadLane: TaskExecutor, Sendable {
  /// Serves one run at a time, and lives as long as the process.
  let loop: EventLoop

  /// A call takes about three jobs. With four jobs between two starts, a client that is too slow sends late rather than
  /// leave answers unread.
  private static let jobsPerStart = 4
  /// The number of tasks that may start while no job waits.
  private static let maximumStarts = 16

  let number: Int

  init(number: Int) {
    self.number = number
    loop = EventLoop(label: "load.\(number)")
  }

  func enqueue(_ job: consuming ExecutorJob) {
    loop.execute(UnownedJob(job), on: asUnownedTaskExecutor())
  }

  var isCurrent: Bool { loop.isCurrent }

  /// Call it on the lane.
  ///
  /// - Parameter timer: runs between jobs, and when its time has come. It may start so many tasks, and answers when it
  ///   has to run again.
  func setTimer(_ timer: @escaping @Sendable (_ starts: Int) -> MonotonicTime) {
    loop.setPacer { jobs in timer(jobs == 0 ? Self.maximumStarts : max(1, jobs / Self.jobsPerStart)) }
  }

  /// Call it on the lane.
  func removeTimer() {
    loop.setPacer(nil)
  }
}
