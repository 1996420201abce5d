// WatchEvents: what happens, as it happens, to each caller as fast as it takes it.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// All who watch, and the feed that they share.
final class EventWatches: Sendable {
  /// Each looks at every event: at a busy service's 10,000 a second, a tenth of a core for so many.
  static let maximumWatches = 256
  static let maximumWatchesPerCaller = 64

  private let store: any Store
  fileprivate let timer: any DelayedExecutor
  private let open = OpenStreams<EventWatch, ExactText>(
    limit: maximumWatches, limitPerOwner: maximumWatchesPerCaller)
  private let callings = Mutex<[Int: ShardCalling]>([:])
  private let lazyFeed = Mutex<EventFeed?>(nil)

  init(store: any Store, timer: any DelayedExecutor) {
    self.store = store
    self.timer = timer
  }

  fileprivate var feed: EventFeed {
    lazyFeed.withLock { feed in
      if let feed { return feed }
      let made = EventFeed(
        store: store, onNews: { [weak self] in self?.callAll() }, onFailure: { [weak self] in self?.failAll($0) })
      feed = made
      return made
    }
  }

  func watch(
    _ filter: EventFilter, after sequence: UInt64, on exchange: StreamExchange<V1.WatchEventsResponse>,
    isStillAllowed: @escaping @Sendable () throws(RequestError) -> Bool
  ) throws(RequestError) -> MethodTable.StreamEvents {
    let watch = EventWatch(
      filter: filter, after: sequence, watches: self, exchange: exchange, isStillAllowed: isStillAllowed)
    try open.add(watch, of: ExactText(exchange.caller.identity), .caller(exchange.caller))
    feed.watcherCame()
    // Which may be at once, and takes back both.
    exchange.stream.onCancel { watch.callerLeft() }
    exchange.stream.accept()
    watch.advance()
    return { event in
      if case .writable = event { watch.becameWritable() }
    }
  }

  fileprivate func forget(_ watch: EventWatch) {
    open.remove(watch)
    feed.watcherLeft()
  }

  // MARK: News for all

  /// Once for each shard, however often there is news before it comes to it.
  private func callAll() {
    for watch in open.all {
      let shard = watch.shard
      let calling = callings.withLock { callings in
        if let calling = callings[shard.index] { return calling }
        let made = ShardCalling()
        callings[shard.index] = made
        return made
      }
      guard calling.begin() else { continue }
      shard.execute { [self] in
        calling.end()
        for watch in open.all where watch.shard.index == shard.index { watch.advance() }
      }
    }
  }

  private func failAll(_ error: StoreError) {
    for watch in open.all { watch.onShard { watch.fail(error) } }
  }

  /// Whoever may not watch any more is sent away.
  func callersChanged() {
    for watch in open.all { watch.onShard { watch.checkCaller() } }
  }

  func drain() {
    for watch in open.drain() { watch.onShard { watch.leave() } }
  }
}

/// Whether a shard was called and has not come.
private final class ShardCalling: Sendable {
  private let isCalled = Atomic<Bool>(false)

  /// False: it is called already.
  func begin() -> Bool { !isCalled.exchange(true, ordering: .acquiringAndReleasing) }
  func end() { isCalled.store(false, ordering: .releasing) }
}

/// One call.
///
/// `@unchecked Sendable`: all that changes is touched on the call's shard alone.
private final class EventWatch: @unchecked Sendable {
  /// A page of the store's; what the caller does not take of it is read again, not kept.
  private static let pageLimit = 64
  /// Looked at before the shard's other calls have a turn: with all who may watch, some 20 ms.
  private static let eventsPerTurn = 128

  private let filter: EventFilter
  private let watches: EventWatches
  private let exchange: StreamExchange<V1.WatchEventsResponse>
  private let isStillAllowed: @Sendable () throws(RequestError) -> Bool
  private var machine: EventWatchStateMachine
  private var hasEnded = false
  private var isGoingOn = false

  init(
    filter: EventFilter, after sequence: UInt64, watches: EventWatches,
    exchange: StreamExchange<V1.WatchEventsResponse>,
    isStillAllowed: @escaping @Sendable () throws(RequestError) -> Bool
  ) {
    self.filter = filter
    self.watches = watches
    self.exchange = exchange
    self.isStillAllowed = isStillAllowed
    machine = EventWatchStateMachine(after: sequence)
  }

  var shard: any CallShard { exchange.incoming.shard }

  func onShard(_ body: @escaping @Sendable () -> Void) {
    exchange.onShard(body)
  }

  // MARK: Sending

  /// As far as there are events and the caller takes them.
  func advance() {
    var looked = 0
    while !hasEnded {
      guard looked < Self.eventsPerTurn else { return goOnLater() }
      switch machine.windowRead(watches.feed.read(after: machine.position)) {
      case .send(let events, let through):
        let turn = events.prefix(Self.eventsPerTurn - looked)
        looked += turn.count
        guard send(turn, through: turn.count < events.count ? turn.last?.record.sequence ?? 0 : through) else { return }
      case .readPage: return readPage()
      case .wait: return
      case .cut: return cut()
      }
    }
  }

  private func readPage() {
    watches.feed.page(matching: filter, after: machine.position, limit: Self.pageLimit) { result in
      self.onShard { self.take(result) }
    }
  }

  private func take(_ result: Result<EventPage, StoreError>) {
    guard !hasEnded else { return }
    switch result {
    case .failure(let error): fail(error)
    case .success(let page):
      if let error = RequestError.archived(before: page, after: machine.position) { return refuse(error) }
      let isSent = send(page.events.map { WatchedEvent($0) }[...], through: page.through)
      machine.pageRead(isAtEnd: isSent && page.reachesEnd)
      if isSent { advance() }
    }
  }

  /// False: the caller has to take some first, and the rest was not sent.
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

  /// False: it could not be encoded, and the call has failed.
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
    shard.execute {
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
      onShard { self.timerFired(setAt: stall) }
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
        code: .resourceExhausted, message: "events are taken more slowly than they come",
        reason: RequestError.Reason.watchTooSlow))
  }

  func fail(_ error: StoreError) {
    if !hasEnded { end(with: exchange.logged(error)) }
  }

  func leave() {
    end(with: .draining)
  }

  /// `error` also says where to go on: what was sent arrives before it.
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
      // Who may not is refused by the question.
      if try !isStillAllowed() { callerLeft() }
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
