// One epoll descriptor with one timer in it: an event loop waits for nothing else.

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

/// Owns the descriptors and closes them when released.
struct Poller: ~Copyable {
  /// Events taken by one call; a busier event loop takes the rest in its next round.
  static let batchSize = 128
  /// The key under which the timer reports.
  static let timerKey = UInt64.max

  let descriptor: Int32
  private let timer: Int32
  private let batch: UnsafeMutableBufferPointer<epoll_event>

  init() {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
    precondition(descriptor >= 0 && timer >= 0, "no descriptors left for an event loop")
    batch = .allocate(capacity: Self.batchSize)
    // Edge-triggered, so that an expiry needs no read(2).
    control(EPOLL_CTL_ADD, timer, events: EPOLLIN.rawValue | EPOLLET.rawValue, key: Self.timerKey)
  }

  deinit {
    batch.deallocate()
    close(timer)
  }

  /// Does not block. The batch is overwritten by the next call.
  func poll() -> UnsafeMutableBufferPointer<epoll_event> {
    let count = epoll_wait(descriptor, batch.baseAddress, Int32(Self.batchSize), 0)
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
