import CEpoll
import Glibc

/// The kinds of readiness that a descriptor is watched for. Level-triggered.
package struct Readiness: OptionSet {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static let readable = Readiness(rawValue: EPOLLIN.rawValue)
  package static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
  /// Reported whether asked for or not: an error, or both directions shut.
  package static let broken = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// One epoll descriptor with a timer and an alarm in it: an event loop waits for nothing else. Owns the descriptors and
/// closes them when released. Only the event loop's thread uses it, but for `wake`.
final class Poller: @unchecked Sendable {
  // Sendable because: `wake` writes to a descriptor that stays open, and the thread alone uses the rest.

  /// Events taken by one call; a busier event loop takes the rest in its next round.
  static let batchSize = 128
  static var noEvents: UnsafeMutableBufferPointer<epoll_event> { UnsafeMutableBufferPointer(start: nil, count: 0) }
  /// The key under which timer and alarm report: no handler has it.
  static let ownKey = UInt64.max

  let descriptor: Int32
  private let timer: Int32
  private let alarm: Int32
  private let batch: UnsafeMutableBufferPointer<epoll_event>

  init() {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
    alarm = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    precondition(descriptor >= 0 && timer >= 0 && alarm >= 0, "no descriptors left for an event loop")
    batch = .allocate(capacity: Self.batchSize)
    // Edge-triggered, so that neither needs a read(2).
    let events = EPOLLIN.rawValue | EPOLLET.rawValue
    control(EPOLL_CTL_ADD, timer, events: events, key: Self.ownKey)
    control(EPOLL_CTL_ADD, alarm, events: events, key: Self.ownKey)
  }

  deinit {
    batch.deallocate()
    for file in [descriptor, timer, alarm] { close(file) }
  }

  /// From any thread: ends the wait that is under way, or else the next one.
  func wake() {
    var count: UInt64 = 1
    // The counter overflows after 2^64 of them.
    write(alarm, &count, MemoryLayout.size(ofValue: count))
  }

  enum Wait: Int32 {
    case untilAnEvent = -1
    /// Epoll's shortest.
    case oneMillisecond = 1
    case no = 0
  }

  /// The batch is overwritten by the next call.
  ///
  /// - Parameter wait: for the first event.
  func events(_ wait: Wait) -> UnsafeMutableBufferPointer<epoll_event> {
    let count = epoll_wait(descriptor, batch.baseAddress, Int32(Self.batchSize), wait.rawValue)
    // -1: a signal's handler ran.
    return UnsafeMutableBufferPointer(rebasing: batch[..<max(0, Int(count))])
  }

  /// False when the kernel has no memory or watches left.
  func add(_ file: Int32, for readiness: Readiness, key: UInt64) -> Bool {
    control(EPOLL_CTL_ADD, file, events: readiness.rawValue, key: key)
  }

  func change(_ file: Int32, to readiness: Readiness, key: UInt64) {
    control(EPOLL_CTL_MOD, file, events: readiness.rawValue, key: key)
  }

  func remove(_ file: Int32) {
    control(EPOLL_CTL_DEL, file, events: 0, key: 0)
  }

  func setTimer(to time: MonotonicTime) {
    // Zero would disarm it.
    let nanoseconds = max(1, time.nanoseconds)
    var value = itimerspec()
    value.it_value.tv_sec = Int(nanoseconds / 1_000_000_000)
    value.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &value, nil)
  }

  @discardableResult
  private func control(_ operation: Int32, _ file: Int32, events: UInt32, key: UInt64) -> Bool {
    var event = epoll_event()
    event.events = events
    event.data.u64 = key
    return epoll_ctl(descriptor, operation, file, &event) == 0
  }
}
