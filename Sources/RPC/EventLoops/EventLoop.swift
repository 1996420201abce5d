import CEpoll
import Dispatch
import Glibc
import Synchronization

/// An event loop on a thread of its own, with one epoll descriptor. A server has several and gives each connection to
/// one; a client makes its own. A second thread takes over while the first one is blocked (`block`).
///
/// It works in rounds. A round runs the jobs that other threads posted, reports the descriptors that are ready, fires
/// the timers that are due, and lets each handler write once. It knows descriptors, timers and jobs; their handlers
/// know the rest.
public final class EventLoop: @unchecked Sendable {
  // Sendable because: the mailbox, the poller's alarm and the thread's id are synchronised. All else is used only on
  // the thread, which debug builds check (`assertIsCurrent`).

  /// Position among the server's event loops; 0 for a client's.
  public let index: Int

  private let poller = Poller()
  private let mailbox = Mailbox<Job>()
  /// The id of the thread that leads; 0 while none does. Only that thread ever finds its own id here.
  private let thread = Atomic<UInt>(0)

  /// Runs in each round before the handlers write. See `RPCServer.init`.
  package var onRoundEnd: (@Sendable (EventLoop) -> Void)?

  /// See `setPacer`.
  private var pacer: Pacer?
  private var pacerIsDue = MonotonicTime.distantFuture

  private var roundBegan = MonotonicTime.now()
  private var handlers = HandlerTable()
  private var timers = DeadlineQueue<Timer>()
  private var timerIsSetTo = MonotonicTime.distantFuture
  private var writers: [any ReadinessHandler] = []
  private var jobs: [Job] = []
  private var blockingWork: (work: BlockingWork, due: MonotonicTime)?
  private var locals: [ObjectIdentifier: any LoopLocal] = [:]
  /// A handler has asked for another `onRoundEnd` since the last one.
  private var roundEndIsDue = false

  /// Traps when the process has no descriptors or threads left for an event loop.
  ///
  /// - Parameter label: names the thread in debuggers and crash reports.
  public convenience init(label: String) {
    self.init(label: label, index: 0)
  }

  /// Traps as `init`.
  package init(label: String, index: Int) {
    self.index = index
    LoopThread(of: self, waitingIn: poller, label: label).start()
  }

  /// Several, whose indices are their positions. Traps as `init`.
  package static func group(_ count: Int, label: String) -> [EventLoop] {
    (0..<count).map { EventLoop(label: "\(label).\($0)", index: $0) }
  }

  deinit {
    // Its parts are released next, and may find that they run on no event loop.
    releaseThread()
    poller.wake()
  }

  /// The calling thread is one of the event loop's two. It calls this once, before it leads.
  func noteThread() {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The calling thread leads from now on, and sees what the thread before it did. Returns false if another thread
  /// leads.
  func adoptThread() -> Bool {
    thread.compareExchange(expected: 0, desired: UInt(pthread_self()), ordering: .acquiring).exchanged
  }

  /// The key under which each thread of an event loop has it, even while the thread does not lead.
  private static let key = {
    var key = pthread_key_t()
    let code = pthread_key_create(&key, nil)
    precondition(code == 0, "the process has a key left")
    return key
  }()

  /// The one that the calling thread leads.
  package static var current: EventLoop? {
    guard let pointer = pthread_getspecific(key) else { return nil }
    let loop = Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
    return loop.isCurrent ? loop : nil
  }

  /// Until it, or another thread, adopts the event loop.
  func releaseThread() {
    thread.store(0, ordering: .releasing)
  }

  /// True on the thread that runs this event loop.
  public var isCurrent: Bool {
    thread.load(ordering: .relaxed) == UInt(pthread_self())
  }

  /// From any thread: runs soon on the event loop, in the order given. Jobs that are posted before a round run in it
  /// together, before `onRoundEnd` and the write.
  public func execute(_ work: @escaping @Sendable () -> Void) {
    post(.work(work))
  }

  /// As `execute`, without a closure to allocate.
  package func execute(_ object: any EventLoopJob) {
    post(.object(object))
  }

  /// As `execute`, for an executor that runs its tasks here.
  package func execute(_ job: UnownedJob, on executor: UnownedTaskExecutor) {
    post(.task(job, executor))
  }

  /// Work that waits for a disk, and what is to be done on the event loop afterwards. If another thread leads by then,
  /// that is done at once, on the thread of the work.
  package typealias BlockingWork = @Sendable () -> Conclusion
  package typealias Conclusion = @Sendable () -> Void

  /// On the thread of an event loop: takes the work over, and does it after the round in which it is due, when the
  /// answers of the round are written. Returns false anywhere else, and while the event loop has such work already.
  ///
  /// - Parameter delay: after which it is due. It may become late by a millisecond.
  package static func block(after delay: Duration, _ work: @escaping BlockingWork) -> Bool {
    guard let loop = current, loop.blockingWork == nil else { return false }
    loop.blockingWork = (work, delay == .zero ? loop.roundBegan : .now() + delay)
    return true
  }

  /// Makes calls at times of its own, on the event loop.
  ///
  /// - Parameter jobs: how many jobs the round had.
  /// - Returns: when it has to run again at the latest.
  package typealias Pacer = @Sendable (_ jobs: Int) -> MonotonicTime

  /// To be called by a job. The pacer runs in each round, this one too, before the handlers write, and when its time
  /// has come.
  package func setPacer(_ pacer: Pacer?) {
    assertIsCurrent()
    self.pacer = pacer
    pacerIsDue = .distantFuture
  }
}

/// Tasks that prefer an event loop run on it.
extension EventLoop: TaskExecutor {
  public func enqueue(_ job: consuming ExecutorJob) {
    execute(UnownedJob(job), on: asUnownedTaskExecutor())
  }
}

/// An object that is its own job.
package protocol EventLoopJob: AnyObject, Sendable {
  /// Once for each time it was posted, on that event loop.
  func run()
}

/// Waits for a descriptor or a timer of the event loop. All calls come on the event loop.
package protocol ReadinessHandler: AnyObject {
  func ready(_ readiness: Readiness)
  /// `tag` is the one the timer was set with.
  func timerExpired(_ tag: TimerTag)
  /// At the end of the round, after `needsWrite`.
  func write()
}

/// An object of which each event loop has one, as each thread has its thread-local variables. Only its event loop uses
/// it.
package protocol LoopLocal: AnyObject {
  /// - Parameter loop: outlives the object, which must not keep it.
  init(on loop: EventLoop)
}

extension EventLoop {
  private enum Job: Sendable {
    case work(@Sendable () -> Void)
    case object(any EventLoopJob)
    case task(UnownedJob, UnownedTaskExecutor)
  }

  package struct Timer {
    var handler: UInt64
    var tag: TimerTag
  }

  package typealias TimerHandle = DeadlineQueue<Timer>.Handle

  private func post(_ job: Job) {
    if mailbox.post(job) { poller.wake() }
  }

  /// From any thread but the event loop's: waits for its turn among the jobs.
  package func sync<Result>(_ work: () -> Result) -> Result {
    precondition(!isCurrent, "an event loop that waits for itself waits for ever")
    return withoutActuallyEscaping(work) { work in
      let job = AwaitedJob(work)
      execute(job)
      return job.result()
    }
  }

  /// Traps in debug builds, unless the caller runs on this event loop.
  @inline(__always)
  package func assertIsCurrent() {
    assert(isCurrent, "only the event loop's own thread may use this")
  }
}

/// A job that another thread waits for.
private final class AwaitedJob<Result>: EventLoopJob, @unchecked Sendable {
  // Sendable because: the semaphore orders what both threads do with it.

  private var work: (() -> Result)?
  private var value: Result?
  private let done = DispatchSemaphore(value: 0)

  init(_ work: @escaping () -> Result) {
    self.work = work
  }

  func run() {
    value = work?()
    // The waiting thread's closure must be released when it goes on.
    work = nil
    done.signal()
  }

  func result() -> Result {
    done.wait()
    guard let value else { preconditionFailure("the job ran and has a result") }
    return value
  }
}

// MARK: - On the event loop only

extension EventLoop {
  /// Read from the clock once a round.
  package var now: MonotonicTime {
    assertIsCurrent()
    return roundBegan
  }

  /// Made at the first use.
  package func local<Object: LoopLocal>(_ type: Object.Type) -> Object {
    assertIsCurrent()
    if let object = locals[ObjectIdentifier(type)] { return unsafeDowncast(object, to: type) }
    let object = Object(on: self)
    locals[ObjectIdentifier(type)] = object
    return object
  }

  /// The key to unregister with; `nil` when the kernel refuses.
  package func register(_ handler: any ReadinessHandler, descriptor: Int32, for readiness: Readiness) -> UInt64? {
    assertIsCurrent()
    let key = handlers.add(handler)
    guard poller.add(descriptor, for: readiness, key: key) else {
      handlers.remove(key)
      return nil
    }
    return key
  }

  /// Events of the descriptor that were already taken are dropped, as are the handler's timers.
  package func unregister(_ key: UInt64, descriptor: Int32) {
    assertIsCurrent()
    handlers.remove(key)
    poller.remove(descriptor)
  }

  package func watch(_ key: UInt64, descriptor: Int32, for readiness: Readiness) {
    assertIsCurrent()
    poller.change(descriptor, to: readiness, key: key)
  }

  package func setTimer(at time: MonotonicTime, for key: UInt64, tag: TimerTag) -> TimerHandle {
    assertIsCurrent()
    return timers.add(Timer(handler: key, tag: tag), at: time)
  }

  package func cancelTimer(_ handle: TimerHandle) {
    assertIsCurrent()
    timers.remove(handle)
  }

  /// The handler's `write()` runs once at the end of this round. Call it once per `write()`.
  package func needsWrite(_ handler: any ReadinessHandler) {
    assertIsCurrent()
    writers.append(handler)
  }

  /// `onRoundEnd` runs after what the caller does now, if need be in another round.
  package func needsRoundEnd() {
    assertIsCurrent()
    roundEndIsDue = true
  }
}

// MARK: - Rounds

extension EventLoop {
  /// - Parameters:
  ///   - events: those that ended the wait.
  ///   - conclusion: of work that blocked.
  /// - Returns: true when the thread may wait for the next event; false when there is more to do.
  func round(
    _ events: UnsafeMutableBufferPointer<epoll_event>, concluding conclusion: Conclusion? = nil
  ) -> Bool {
    roundBegan = .now()
    conclusion?()
    let jobCount = runJobs()
    dispatch(events)
    fireTimers()
    if let pacer { pacerIsDue = pacer(jobCount) }
    roundEndIsDue = false
    onRoundEnd?(self)
    writeAll()
    setEarliestTimer()
    return !roundEndIsDue && pacerIsDue > roundBegan && mailbox.fallAsleep()
  }

  var hasBlockingWork: Bool { blockingWork != nil }

  /// If it is due.
  func takeBlockingWork() -> BlockingWork? {
    guard let (work, due) = blockingWork, due <= roundBegan || due <= .now() else { return nil }
    blockingWork = nil
    return work
  }

  /// How many there were.
  private func runJobs() -> Int {
    mailbox.collect(into: &jobs)
    guard !jobs.isEmpty else { return 0 }
    for job in jobs {
      switch job {
      case .work(let work): work()
      case .object(let object): object.run()
      case .task(let job, let executor): job.runSynchronously(on: executor)
      }
    }
    defer { jobs.removeAll(keepingCapacity: true) }
    return jobs.count
  }

  private func dispatch(_ events: UnsafeMutableBufferPointer<epoll_event>) {
    for event in events where event.data.u64 != Poller.ownKey {
      handlers[event.data.u64]?.ready(Readiness(rawValue: event.events))
    }
  }

  private func fireTimers() {
    while let timer = timers.popExpired(at: roundBegan) {
      handlers[timer.handler]?.timerExpired(timer.tag)
    }
  }

  private func setEarliestTimer() {
    if timerIsSetTo <= roundBegan { timerIsSetTo = .distantFuture }
    let earliest = min(timers.earliest ?? .distantFuture, pacerIsDue)
    guard earliest < timerIsSetTo else { return }
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
