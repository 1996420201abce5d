import CEpoll
import Glibc
import Synchronization

/// The threads of an event loop. One leads: it waits in epoll, and lets the event loop run a round whenever there is
/// something to do. They end soon after the event loop was dropped.
///
/// Work that blocks (`EventLoop.block`) is done by the leader itself between two rounds, because to wake another thread
/// for it, and then this one for its result, costs a quiet service more than the work. Meanwhile a second thread stands
/// by. If there is something to do before the work ends, it leads from then on, and the first one stands by.
///
/// As the source of a Dispatch queue, each event would first wake Dispatch's manager thread, which then wakes the
/// queue's.
final class LoopThread: Sendable {
  /// The threads must not keep it.
  private weak let loop: EventLoop?
  private let poller: Poller
  private let standby: Standby
  private let label: String
  /// Set by the one that leads.
  private let hasSecond = Atomic<Bool>(false)

  init(of loop: EventLoop, waitingIn poller: Poller, label: String) {
    self.loop = loop
    self.poller = poller
    self.label = label
    standby = Standby(watching: poller)
  }

  func start() {
    let isStarted = startThread(label) { self.lead() }
    precondition(isStarted, "no thread left for an event loop")
  }

  /// False when the process has no thread left.
  private func startSecond() -> Bool {
    if hasSecond.load(ordering: .relaxed) { return true }
    let isStarted = startThread(label) {
      self.loop?.noteThread()
      self.standBy()
    }
    hasSecond.store(isStarted, ordering: .relaxed)
    return isStarted
  }

  private func lead() {
    // Without an event loop there are no rounds, and the thread ends.
    loop?.noteThread()
    _ = loop?.adoptThread()
    // The first round comes with the first event, because its owner may still set up the event loop.
    runRounds(after: .untilAnEvent)
    standBy()
  }

  private func standBy() {
    while standby.wait() {
      // If the other thread leads again, it was quicker.
      if loop?.adoptThread() ?? false { runRounds(after: .no) }
    }
  }

  /// Returns when the other thread leads, or the event loop is gone.
  private func runRounds(after firstWait: Poller.Wait) {
    var wait = firstWait
    // Work that is not due yet keeps the event loop.
    var kept: EventLoop?
    while true {
      let events = poller.events(wait)
      guard let loop else { return standby.end() }
      var mayWait = loop.round(events)
      while let work = loop.takeBlockingWork() {
        guard let conclusion = perform(work, for: loop, isAwake: !mayWait) else { return }
        mayWait = loop.round(Poller.noEvents, concluding: conclusion)
      }
      kept = loop.hasBlockingWork ? loop : nil
      wait = !mayWait ? .no : kept == nil ? .untilAnEvent : .oneMillisecond
    }
  }

  /// Returns what is left to be done on the event loop; `nil`: the other thread leads, and nothing is left.
  ///
  /// - Parameter isAwake: the event loop has more to do, and nobody else would wake the second thread for it.
  private func perform(
    _ work: EventLoop.BlockingWork, for loop: EventLoop, isAwake: Bool
  ) -> EventLoop.Conclusion? {
    guard startSecond() else { return work() }
    loop.releaseThread()
    if isAwake { poller.wake() }
    standby.arm()
    let conclusion = work()
    guard loop.adoptThread() else {
      conclusion()
      return nil
    }
    standby.disarm()
    return conclusion
  }
}

/// The second thread of an event loop waits here. If this is armed, an event of the poller wakes the thread.
final class Standby: Sendable {
  private let descriptor: Int32
  private let watched: Int32
  /// Readable for good once the event loop is gone.
  private let ended: Int32

  init(watching poller: Poller) {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    watched = poller.descriptor
    ended = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    precondition(descriptor >= 0 && ended >= 0, "no descriptors left for an event loop")
    control(EPOLL_CTL_ADD, ended, EPOLLIN.rawValue)
    control(EPOLL_CTL_ADD, watched, 0)
  }

  deinit {
    for file in [descriptor, ended] { close(file) }
  }

  /// An event that is there already counts. Armed once, it wakes once.
  func arm() {
    control(EPOLL_CTL_MOD, watched, EPOLLIN.rawValue | EPOLLONESHOT.rawValue)
  }

  func disarm() {
    control(EPOLL_CTL_MOD, watched, 0)
  }

  /// Returns false once the event loop is gone.
  func wait() -> Bool {
    var event = epoll_event()
    // -1: a signal's handler ran.
    while epoll_wait(descriptor, &event, 1, -1) < 1 {}
    return event.data.fd != ended
  }

  func end() {
    var count: UInt64 = 1
    write(ended, &count, MemoryLayout.size(ofValue: count))
  }

  private func control(_ operation: Int32, _ file: Int32, _ events: UInt32) {
    var event = epoll_event()
    event.events = events
    event.data.fd = file
    let code = epoll_ctl(descriptor, operation, file, &event)
    precondition(code == 0, "an event loop's own descriptors can be waited for")
  }
}

/// Runs it on a thread of its own, for work that blocks or is long. False when the kernel has no threads left.
///
/// - Parameter label: debuggers show its first 15 bytes.
package func startThread(_ label: String, _ body: @escaping @Sendable () -> Void) -> Bool {
  var thread = pthread_t()
  let work = Unmanaged.passRetained(ThreadWork(label: label, body: body))
  let code = pthread_create(
    &thread, nil,
    { work in
      guard let work else { return nil }
      Unmanaged<ThreadWork>.fromOpaque(work).takeRetainedValue().run()
      return nil
    }, work.toOpaque())
  guard code == 0 else {
    work.release()
    return false
  }
  pthread_detach(thread)
  return true
}

private final class ThreadWork: Sendable {
  private let label: String
  private let body: @Sendable () -> Void

  /// Linux takes no longer ones.
  private static let maximumLabelBytes = 15

  init(label: String, body: @escaping @Sendable () -> Void) {
    self.label = label
    self.body = body
  }

  func run() {
    pthread_setname_np(pthread_self(), String(decoding: label.utf8.prefix(Self.maximumLabelBytes), as: UTF8.self))
    body()
  }
}
