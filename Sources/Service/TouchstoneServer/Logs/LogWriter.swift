// Writes the log to a descriptor, on a queue of its own: no other thread waits for the reader of stderr.

internal import Dispatch
internal import Glibc
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

final class LogWriter: Sendable {
  /// Lines are gathered for so long, so that a busy service makes fifty system calls a second, and not one a line.
  private static let gathering = DispatchTimeInterval.milliseconds(20)
  /// How often the log says that lines were dropped.
  private static let noticeSeconds: Int64 = 10
  /// An exit waits no longer for a reader that has stopped.
  private static let flushSeconds = 1.0

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "touchstone.log")
  private let buffer = Mutex(LogBuffer())
  private let droppedLines = Atomic<Int>(0)
  private let work: Mutex<Work>
  /// Makes the line that says how many lines were dropped.
  private let notice: @Sendable (Int) -> [UInt8]

  /// Used on the queue alone.
  private struct Work {
    var lines: [UInt8] = []
    var untold = 0
    var noticed = UnixTime(seconds: 0)
  }

  init(to descriptor: Int32, notice: @escaping @Sendable (_ dropped: Int) -> [UInt8]) {
    self.descriptor = descriptor
    self.notice = notice
    work = Mutex(Work())
  }

  /// Since the start.
  var dropped: Int { droppedLines.load(ordering: .relaxed) }

  /// - Parameter isUrgent: written at once, for it may be the last line of a process.
  func write(_ line: [UInt8], isUrgent: Bool) {
    let addition = buffer.withLock { $0.add(line) }
    switch addition {
    case .dropped: droppedLines.add(1, ordering: .relaxed)
    case _ where isUrgent: queue.async { self.drain() }
    case .first: queue.asyncAfter(deadline: .now() + Self.gathering) { self.drain() }
    case .further: break
    }
  }

  /// Returns when all lines are written, or after a second.
  func flush() {
    let done = DispatchSemaphore(value: 0)
    queue.async {
      self.drain()
      done.signal()
    }
    _ = done.wait(timeout: .now() + Self.flushSeconds)
  }

  private func drain() {
    work.withLock { work in
      work.untold += buffer.withLock { $0.take(into: &work.lines) }
      let now = systemTime()
      if work.untold > 0, now.seconds - work.noticed.seconds >= Self.noticeSeconds {
        work.lines += notice(work.untold)
        (work.untold, work.noticed) = (0, now)
      }
      put(work.lines)
    }
  }

  /// Lines that cannot be written are gone: there is no other place to say so.
  private func put(_ lines: [UInt8]) {
    lines.withUnsafeBytes { lines in
      var rest = lines[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let count = Glibc.write(descriptor, part.baseAddress, part.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
          var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&ready, 1, -1)
        } else if errno != EINTR {
          return
        }
      }
    }
  }
}
