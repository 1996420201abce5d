// WatchEvents: sends events as they happen, to each client as fast as it reads.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneStore

/// All open watches, and the feed that they share.
final class EventWatches: Sendable {
  /// Each watch filters every event. At 10,000 events a second, this many watches take a tenth of a core.
  static let maximumWatches = 256
  static let maximumWatchesPerCaller = 64

  fileprivate let store: any Store
  /// Turns for watches that are not at the log's end, because many resume at once after a restart and read many pages.
  fileprivate let permits = StorePermits(.eventReads)
  fileprivate let timer: any DelayedExecutor
  private let open = OpenStreams<EventWatch>(.init(all: maximumWatches, perCaller: maximumWatchesPerCaller))
  private let callings = Mutex<[Int: LoopCalling]>([:])
  private let lazyFeed = Mutex<EventFeed?>(nil)

  init(store: any Store, timer: any DelayedExecutor) {
    self.store = store
    self.timer = timer
  }

  fileprivate var feed: EventFeed {
    lazyFeed.withLock { feed in
      if let feed { return feed }
      let made = EventFeed(store: store, watches: self)
      feed = made
      return made
    }
  }

  /// - Parameter access: asked again after each reload whether the caller may still watch.
  func watch(
    _ filter: EventFilter, after sequence: UInt64, on exchange: StreamExchange<V1.WatchEventsResponse>,
    _ access: AccessControl
  ) throws(RequestError) -> MethodTable.StreamEvents {
    let watch = EventWatch(filter: filter, after: sequence, watches: self, exchange: exchange, access: access)
    try open.add(watch, of: .caller(exchange.caller.identity))
    feed.watcherCame()
    // The cancellation may come at once; it undoes both.
    exchange.stream.onCancel { _ in watch.callerLeft() }
    exchange.stream.accept(Metadata())
    watch.advance()
    return { event in
      if case .writable = event { watch.becameWritable() }
    }
  }

  fileprivate func forget(_ watch: EventWatch) {
    open.remove(watch)
    feed.watcherLeft()
  }

  // MARK: News for all watches

  /// Calls each event loop once, however often news comes before it runs. Called on a thread of the store.
  func newsCame() {
    for watch in open.all {
      let loop = watch.loop
      let calling = callings.withLock { callings in
        if let calling = callings[loop.index] { return calling }
        let made = LoopCalling()
        callings[loop.index] = made
        return made
      }
      guard calling.begin() else { continue }
      loop.execute { [self] in
        calling.end()
        for watch in open.all where watch.loop.index == loop.index { watch.advance() }
      }
    }
  }

  /// No more events will come.
  func feedFailed(_ error: StoreError) {
    for watch in open.all { watch.exchange.onLoop { watch.fail(error) } }
  }

  /// Ends the watches whose caller may no longer watch.
  func callersChanged() {
    for watch in open.all { watch.exchange.onLoop { watch.checkCaller() } }
  }

  func drain() {
    open.drain()
  }
}

/// Whether an event loop was called and has not run yet.
private final class LoopCalling: Sendable {
  private let isCalled = Atomic<Bool>(false)

  /// False: it was already called.
  func begin() -> Bool { !isCalled.exchange(true, ordering: .acquiringAndReleasing) }
  func end() { isCalled.store(false, ordering: .releasing) }
}

/// One call of WatchEvents.
///
/// `@unchecked Sendable`: its variables are used only on the call's event loop.
private final class EventWatch: OpenStream, @unchecked Sendable {
  /// A page of the store. Events that the client does not read in time are read again from the store, not kept.
  private static let pageLimit = 64
  /// The number of events before the event loop serves other calls. With the maximum of watches, that takes some 20 ms.
  private static let eventsPerTurn = 128

  private let filter: EventFilter
  private let watches: EventWatches
  let exchange: StreamExchange<V1.WatchEventsResponse>
  private let access: AccessControl
  private var machine: EventWatchStateMachine
  private var hasEnded = false
  private var isGoingOn = false

  init(
    filter: EventFilter, after sequence: UInt64, watches: EventWatches,
    exchange: StreamExchange<V1.WatchEventsResponse>, access: AccessControl
  ) {
    self.filter = filter
    self.watches = watches
    self.exchange = exchange
    self.access = access
    machine = EventWatchStateMachine(after: sequence)
  }

  var loop: any CallLoop { exchange.incoming.loop }

  // MARK: Sending events

  /// Sends as long as there are events and the client reads them.
  func advance() {
    var looked = 0
    while !hasEnded {
      guard looked < Self.eventsPerTurn else { return goOnLater() }
      switch machine.windowRead(watches.feed.read(after: machine.position)) {
      case .send(let events, let through):
        let turn = events.prefix(Self.eventsPerTurn - looked)
        looked += turn.count
        guard send(turn, through: turn.count < events.count ? turn.last?.record.sequence ?? 0 : through) else { return }
      case .readPage: return exchange.run { [self] in await readPage() }
      case .wait: return
      case .cut: return cut()
      }
    }
  }

  private func readPage() async {
    let position = machine.position
    do throws(RequestError) {
      let permit = try await watches.permits.permit(
        for: exchange.stream, of: exchange.caller, applicationID: filter.applicationID)
      take(
        try await exchange.value(ending: permit) {
          watches.store.events(matching: filter, afterSequence: position, limit: Self.pageLimit, completion: $0)
        })
    } catch {
      // As many reads may wait as watches may be open, but reads of watches that were just cancelled wait, too.
      end(with: error)
    }
  }

  private func take(_ page: EventPage) {
    guard !hasEnded else { return }
    if let error = RequestError.missedEvents(before: page, after: machine.position) { return refuse(error) }
    let isSent = send(page.events.map { WatchedEvent($0) }[...], through: page.through)
    machine.pageRead(isAtEnd: isSent && page.reachesEnd)
    if isSent { advance() }
  }

  /// False: the client must read first, and the rest was not sent.
  private func send(_ events: ArraySlice<WatchedEvent>, through: UInt64) -> Bool {
    for event in events where filter.includes(event.record) {
      guard exchange.stream.isWritable else {
        stalled()
        return false
      }
      guard send(event) else {
        callerLeft()
        return false
      }
      machine.sent(through: event.record.sequence)
    }
    machine.sent(through: through)
    return true
  }

  /// False: the event could not be encoded, and the call has failed.
  private func send(_ event: WatchedEvent) -> Bool {
    guard let answer = event.answer else {
      return exchange.send(V1.WatchEventsResponse(event: V1.Event(event.record)))
    }
    exchange.stream.send(answer)
    return true
  }

  private func goOnLater() {
    guard !isGoingOn else { return }
    isGoingOn = true
    loop.execute {
      self.isGoingOn = false
      self.advance()
    }
  }

  // MARK: Slow callers

  private func stalled() {
    guard machine.stalled() else { return }
    setTimer()
  }

  private func setTimer() {
    let stall = machine.stall
    watches.timer.after(EventWatchStateMachine.stallLimit) { [weak self] in
      guard let self else { return }
      exchange.onLoop { self.timerFired(setAt: stall) }
    }
  }

  private func timerFired(setAt stall: Int) {
    guard !hasEnded else { return }
    switch machine.timerFired(setAt: stall) {
    case .nothing: break
    case .setAgain: setTimer()
    case .cut: cut()
    }
  }

  func becameWritable() {
    machine.becameWritable()
    advance()
  }

  // MARK: The end

  private func cut() {
    end(
      with: RequestError(
        code: .resourceExhausted, message: "the client reads events more slowly than they come",
        reason: RequestError.Reason.watchTooSlow))
  }

  func fail(_ error: StoreError) {
    if !hasEnded { end(with: exchange.logged(error)) }
  }

  func leave(_ error: RequestError) {
    end(with: error)
  }

  /// Adds the position from which to resume: all sent events arrive before the error.
  private func end(with error: RequestError) {
    guard !hasEnded else { return }
    var error = error
    error.message += "; resume with after_sequence \(machine.position)"
    refuse(error)
  }

  private func refuse(_ error: RequestError) {
    exchange.refuse(error)
    callerLeft()
  }

  func checkCaller() {
    guard !hasEnded else { return }
    do throws(RequestError) {
      // The check itself refuses a caller that may no longer watch.
      if try !access.stillAdmits(exchange, about: filter.applicationID) { callerLeft() }
    } catch {
      end(with: error)
    }
  }

  func callerLeft() {
    guard !hasEnded else { return }
    hasEnded = true
    watches.forget(self)
  }
}

extension RequestError.Reason {
  static let watchTooSlow = "WATCH_TOO_SLOW"
}
