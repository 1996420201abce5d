import CEpoll
import Glibc

/// The thread of an event loop. It waits in epoll, and lets the event loop run a round whenever there is something to
/// do. It ends soon after the event loop was dropped.
///
/// As the source of a Dispatch queue, each event would first wake Dispatch's manager thread, which then wakes the
/// queue's.
final class LoopThread: Sendable {
  /// The thread must not keep it.
  private weak let loop: EventLoop?
  private let poller: Poller

  init(of loop: EventLoop, waitingIn poller: Poller) {
    self.loop = loop
    self.poller = poller
  }

  func start(label: String) {
    let isStarted = startThread(label) { self.run() }
    precondition(isStarted, "no thread left for an event loop")
  }

  private func run() {
    loop?.adoptThread()
    var mayWait = true
    while true {
      let events = poller.events(blocking: mayWait)
      guard let loop else { return }
      mayWait = loop.round(events)
    }
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
