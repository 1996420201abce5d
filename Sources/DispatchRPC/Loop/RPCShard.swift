// The event loop: one serial queue, one epoll descriptor in one DispatchSource, and everything that lives on them.

import Dispatch
import CEpoll
import Glibc
import Synchronization

/// An event loop on a serial Dispatch queue. A server has several and gives each connection to one; a client makes its own.
///
/// One wake-up takes what other threads posted and what the sockets brought, hands it on, and writes each connection once.
public final class RPCShard: @unchecked Sendable {
  // Sendable because: the mailbox and the owner are synchronised; everything else is touched only on `queue`.

  /// Rounds of one wake-up before Dispatch gets its thread back for others.
  private static let roundsPerWakeUp = 8
  /// Shared by all connections of the shard, for one read(2) or send(2) each.
  static let bufferBytes = 128 << 10

  /// Position among the server's shards; 0 for a client's loop.
  public let index: Int

  private let queue: DispatchQueue
  private let source: any DispatchSourceRead
  private let poller: Poller
  private let mailbox = Mailbox<Letter>()
  /// The thread that runs a wake-up now, or 0. Only that thread ever finds its own id here.
  private let currentThread = Atomic<UInt>(0)

  /// Read once a round.
  private(set) var now = MonotonicTime.now()
  let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
  let sendBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
  var headerBlock = HeaderBlock()
  let gzip = Gzip()
  /// See `RPCServer.init`.
  var onWakeUpEnd: (@Sendable (RPCShard) -> Void)?

  var handshakes = HandshakeTurns()

  private var handlers = HandlerTable()
  private var timers = DeadlineQueue<Timer>()
  private var timerIsSetTo = MonotonicTime.distantFuture
  private var writers: [any ReadinessHandler] = []
  private var letters: [Letter] = []
  /// A handler ran after this round's `onWakeUpEnd`.
  private var wakeUpEndIsDue = false

  /// Traps when the process has no descriptors left for an event loop.
  ///
  /// - Parameter label: names the queue in debuggers and crash reports.
  public convenience init(label: String) {
    self.init(label: label, index: 0)
  }

  init(label: String, index: Int) {
    self.index = index
    queue = DispatchQueue(label: label)
    poller = Poller()
    source = DispatchSource.makeReadSource(fileDescriptor: poller.descriptor, queue: queue)
    let descriptor = poller.descriptor
    source.setCancelHandler { close(descriptor) }
    source.setEventHandler { [weak self] in self?.wakeUp() }
    source.activate()
  }

  deinit {
    source.cancel()
    receiveBuffer.deallocate()
    sendBuffer.deallocate()
  }

  /// True on the thread that runs this shard's wake-up.
  public var isCurrent: Bool {
    currentThread.load(ordering: .relaxed) == UInt(pthread_self())
  }

  /// From any thread: runs soon on the shard, in the order given. What is posted before a wake-up runs in it together,
  /// before `onWakeUpEnd` and the write.
  public func execute(_ work: @escaping @Sendable () -> Void) {
    post(.work(work))
  }
}

/// Whatever waits for a descriptor or a timer of the shard.
protocol ReadinessHandler: AnyObject {
  func ready(_ readiness: Readiness)
  /// `tag` is the one the timer was set with.
  func timerExpired(_ tag: TimerTag)
  /// At the end of the wake-up, after `needsWrite`.
  func write()
}

extension RPCShard {
  enum Letter: Sendable {
    case work(@Sendable () -> Void)
    case answer(RPCServerCall, RPCServerAnswer)
  }

  struct Timer {
    var handler: UInt64
    var tag: TimerTag
  }

  typealias TimerHandle = DeadlineQueue<Timer>.Handle

  /// From any thread.
  func post(_ letter: Letter) {
    guard mailbox.post(letter) else { return }
    queue.async { [weak self] in self?.wakeUp() }
  }

  /// From any thread but the shard's: waits for its turn between two wake-ups.
  func sync<Result>(_ work: () -> Result) -> Result {
    precondition(!isCurrent, "a shard that waits for itself waits for ever")
    return queue.sync(execute: work)
  }

  // MARK: On the shard only

  /// The key to unregister with; `nil` when the kernel refuses.
  func register(_ handler: any ReadinessHandler, descriptor: Int32, for readiness: Readiness) -> UInt64? {
    let key = handlers.add(handler)
    guard poller.add(descriptor, for: readiness, key: key) else {
      handlers.remove(key)
      return nil
    }
    return key
  }

  /// Events of the descriptor that were already taken are dropped, as are the handler's timers.
  func unregister(_ key: UInt64, descriptor: Int32) {
    handlers.remove(key)
    poller.remove(descriptor)
  }

  func watch(_ key: UInt64, descriptor: Int32, for readiness: Readiness) {
    poller.change(descriptor, to: readiness, key: key)
  }

  func setTimer(at time: MonotonicTime, for key: UInt64, tag: TimerTag) -> TimerHandle {
    timers.add(Timer(handler: key, tag: tag), at: time)
  }

  func cancelTimer(_ handle: TimerHandle) {
    timers.remove(handle)
  }

  /// The handler's `write()` runs once at the end of this wake-up. Call it once per `write()`.
  func needsWrite(_ handler: any ReadinessHandler) {
    writers.append(handler)
  }

  /// A request was dispatched: `onWakeUpEnd` runs after it, if need be in another round.
  func needsWakeUpEnd() {
    wakeUpEndIsDue = true
  }
}

extension RPCShard {
  private func wakeUp() {
    currentThread.store(UInt(pthread_self()), ordering: .relaxed)
    defer { currentThread.store(0, ordering: .relaxed) }
    for _ in 0..<Self.roundsPerWakeUp where !round() {
      return
    }
    // Descriptors and letters call again by themselves.
    if wakeUpEndIsDue { queue.async { [weak self] in self?.wakeUp() } }
  }

  /// True when there is likely more to do.
  private func round() -> Bool {
    now = .now()
    let hadLetters = readLetters()
    let eventCount = dispatchEvents()
    fireTimers()
    wakeUpEndIsDue = false
    onWakeUpEnd?(self)
    writeAll()
    setEarliestTimer()
    return hadLetters || eventCount > 1 || wakeUpEndIsDue
  }

  private func readLetters() -> Bool {
    mailbox.collect(into: &letters)
    guard !letters.isEmpty else { return false }
    for letter in letters {
      switch letter {
      case .work(let work): work()
      case .answer(let call, let answer): call.deliver(answer)
      }
    }
    letters.removeAll(keepingCapacity: true)
    return true
  }

  private func dispatchEvents() -> Int {
    let events = poller.poll()
    for event in events where event.data.u64 != Poller.timerKey {
      handlers[event.data.u64]?.ready(Readiness(rawValue: event.events))
    }
    return events.count
  }

  private func fireTimers() {
    while let timer = timers.popExpired(at: now) {
      handlers[timer.handler]?.timerExpired(timer.tag)
    }
  }

  private func setEarliestTimer() {
    if timerIsSetTo <= now { timerIsSetTo = .distantFuture }
    guard let earliest = timers.earliest, earliest < timerIsSetTo else { return }
    timerIsSetTo = earliest
    poller.setTimer(to: earliest)
  }

  /// By index: writing may fail a connection, and its calls' cancel handlers may answer other calls.
  private func writeAll() {
    var index = 0
    while index < writers.count {
      writers[index].write()
      index += 1
    }
    writers.removeAll(keepingCapacity: true)
  }
}
