// Group commit: all waiting writes share one transaction and one fsync.

internal import Dispatch
internal import Synchronization
internal import TouchstoneStore

/// The only way to write. If too many writes wait, further ones are refused at once.
///
/// One thread drains it at a time: one that has called `commit` (`SQLiteStoreOptions.takesWriting`), or the queue's.
///
/// `@unchecked Sendable`: `writer`, `schedule`, `unfinished`, `isTurnOfUnfinished`, `owesEmptyLog`,
/// `isLookScheduled` and `breakage` are used only by the one that drains.
final class WriterQueue: @unchecked Sendable {
  private struct Waiting {
    var writes: [PendingWrite] = []
    /// Tasks for the one that drains. They come first, and are few.
    var tasks: [@Sendable () -> Void] = []
    /// A thread drains, or soon will.
    var isDraining = false
    /// Set: nothing is accepted any more.
    var refusal: StoreError?
    var pace = CommitPace()
  }

  /// How soon it tries again to empty a log that readers kept. A long reader (a backup) costs nothing, and erased
  /// content stays no longer than the reader.
  private static let lookInterval = DispatchTimeInterval.milliseconds(500)

  private let waiting = Mutex(Waiting())
  private let counters = Mutex(StoreStatistics())
  private let maximumWaiting: Int
  private let maximumBatch: Int
  private let observer: StoreObserver
  private let queue = DispatchQueue(label: "touchstone.sqlite.writer")
  private let takesWriting: @Sendable (Duration, @escaping @Sendable () -> Answers) -> Bool
  let eventSignal = EventSignal()
  private let checkpointer: Checkpointer
  private var writer: BatchWriter?
  private var schedule: CheckpointSchedule
  /// Erasures of which a part is written. Waiting writes take turns with them, so neither waits for all of the other.
  private var unfinished: [PendingWrite] = []
  private var isTurnOfUnfinished = false
  /// The write-ahead log holds erased content until it is emptied.
  private var owesEmptyLog = false
  private var isLookScheduled = false
  /// If set, the disk's content is unknown, and nothing is written any more, not even by closing.
  private var breakage: StoreError?

  /// - Parameter owesEmptyLog: a killed process may have left erased content in the log.
  init(writer: BatchWriter, checkpointer: Checkpointer, owesEmptyLog: Bool, options: SQLiteStoreOptions) {
    self.writer = writer
    self.owesEmptyLog = owesEmptyLog
    self.checkpointer = checkpointer
    schedule = CheckpointSchedule(startFrames: options.checkpointFrames)
    maximumWaiting = options.maximumWaitingWrites
    maximumBatch = options.maximumBatchWrites
    observer = options.observer
    takesWriting = options.takesWriting
    if owesEmptyLog { add { self.lookLater() } }
  }

  var statistics: StoreStatistics { counters.withLock { $0 } }

  func submit(_ write: PendingWrite) {
    // `delay`: set where the caller must begin a drain.
    let (refusal, delay) = waiting.withLock { waiting -> (StoreError?, delay: Duration?) in
      if let refusal = waiting.refusal { return (refusal, nil) }
      guard waiting.writes.count < maximumWaiting || write.isProbe else { return (.overloaded, nil) }
      waiting.writes.append(write)
      guard !waiting.isDraining else { return (nil, nil) }
      waiting.isDraining = true
      return (nil, waiting.pace.delay(at: .now))
    }
    if let refusal {
      if refusal == .overloaded { counters.withLock { $0.overloads += 1 } }
      write.fail(refusal)
    } else if let delay, !takesWriting(delay, { self.drain() }) {
      drainOnQueue()
    }
  }

  /// Finishes first what was accepted; of an erasure no more than the part in hand, since a long one has hundreds.
  func close(completion: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.refusal = .closed }
    add {
      self.endErasures()
      while let batch = self.nextBatch() {
        self.write(batch)()
        self.endErasures()
      }
      self.checkpointer.close {
        // Last: closing the last connection empties the log into the database.
        self.add {
          self.writer = nil
          completion()
        }
      }
    }
  }

  private func add(_ task: @escaping @Sendable () -> Void) {
    let mustDrain = waiting.withLock { waiting in
      waiting.tasks.append(task)
      defer { waiting.isDraining = true }
      return !waiting.isDraining
    }
    if mustDrain { drainOnQueue() }
  }

  private func drainOnQueue() {
    queue.async { self.drain()() }
  }

  // MARK: By the one that drains

  /// Answers those whose writes are durable, or refused.
  private typealias Answers = @Sendable () -> Void

  private enum Turn {
    case task(@Sendable () -> Void)
    case batch([PendingWrite])
  }

  /// Until nothing waits. Returns the last batch's answers.
  private func drain() -> Answers {
    var answers: Answers = {}
    while let turn = nextTurn() {
      answers()
      switch turn {
      case .task(let task):
        answers = {}
        task()
      case .batch(let batch): answers = write(batch)
      }
    }
    return answers
  }

  /// `nil`: nothing waits, and the next write begins another drain.
  private func nextTurn() -> Turn? {
    let task = waiting.withLock { $0.tasks.isEmpty ? nil : $0.tasks.removeFirst() }
    if let task { return .task(task) }
    if let batch = nextBatch() { return .batch(batch) }
    let hasEnded = waiting.withLock { waiting in
      waiting.isDraining = !waiting.tasks.isEmpty || !waiting.writes.isEmpty
      return !waiting.isDraining
    }
    return hasEnded ? nil : nextTurn()
  }

  private func endErasures() {
    fail(unfinished, .closed)()
    unfinished = []
  }

  private func nextBatch() -> [PendingWrite]? {
    defer { isTurnOfUnfinished.toggle() }
    if isTurnOfUnfinished, !unfinished.isEmpty { return [unfinished.removeFirst()] }
    return waiting.withLock { waiting in
      guard !waiting.writes.isEmpty else { return unfinished.isEmpty ? nil : [unfinished.removeFirst()] }
      waiting.pace.began(min(waiting.writes.count, maximumBatch), at: .now)
      guard waiting.writes.count > maximumBatch else {
        defer { waiting.writes = [] }
        return waiting.writes
      }
      let batch = Array(waiting.writes.prefix(maximumBatch))
      waiting.writes.removeFirst(maximumBatch)
      return batch
    }
  }

  private func write(_ batch: [PendingWrite]) -> Answers {
    if let breakage { return fail(batch, breakage) }
    guard let writer else { return fail(batch, .closed) }
    do throws(BatchFailure) {
      let answers = try writer.write(batch)
      let rests = answers.compactMap(\.rest)
      unfinished += rests
      if writer.hasErased {
        owesEmptyLog = true
        // Once for each erasure, unless no further part of it is written.
        if rests.isEmpty { emptyLog(of: writer) } else { lookLater() }
      }
      let frames = writer.connection.walFrames
      let commits = counters.withLock { $0.count(answers, walFrames: frames) }
      observer.committed(commits, writer.commitTime)
      let hasAppended = writer.hasAppended
      noteCommitted(walFrames: frames)
      return { [eventSignal] in
        for answer in answers { answer.deliver() }
        if hasAppended { eventSignal.ring() }
      }
    } catch {
      counters.withLock { $0.failedTransactions += 1 }
      if error.isFinal { stop(writer, error.answer) }
      return fail(batch, error.answer)
    }
  }

  private func stop(_ writer: BatchWriter, _ cause: StoreError) {
    let breakage = StoreError.broken(by: cause)
    self.breakage = breakage
    waiting.withLock { $0.refusal = $0.refusal ?? breakage }
    // Fails only if the connection was misused.
    try? writer.connection.setCheckpointsOnClose(false)
  }

  private func fail(_ batch: [PendingWrite], _ error: StoreError) -> Answers {
    { for write in batch { write.fail(error) } }
  }

  // MARK: Checkpoints

  /// A checkpoint that is due comes after the answers.
  private func noteCommitted(walFrames: Int) {
    let action = schedule.committed(walFrames: walFrames)
    if action != .none { add { self.perform(action) } }
  }

  private func perform(_ action: CheckpointSchedule.Action) {
    guard breakage == nil else { return }
    switch action {
    case .none: break
    case .copyOnWriter: copyOnWriter()
    case .copyBesideCommits:
      checkpointer.copy { progress in
        self.add { self.copied(progress) }
      }
    }
  }

  private func copied(_ result: Result<SQLiteConnection.CheckpointProgress, SQLiteError>) {
    guard let writer, breakage == nil else { return }
    switch result {
    case .success(let progress):
      perform(
        schedule.copiedBesideCommits(copiedFrames: progress.copiedFrames, walFrames: writer.connection.walFrames))
    case .failure(let error):
      schedule.failed(walFrames: writer.connection.walFrames)
      checkpointFailed(on: writer, error)
    }
  }

  /// Usually it is tried again, because the log still has everything.
  private func checkpointFailed(on writer: BatchWriter, _ error: SQLiteError) {
    if let failure = BatchFailure(inCheckpoint: error) { stop(writer, failure.answer) }
  }

  /// If readers are in the way, it does not wait for them, and tries again at each checkpoint, and when they are gone.
  private func emptyLog(of writer: BatchWriter) {
    do throws(SQLiteError) {
      try writer.connection.emptyLog()
      owesEmptyLog = false
    } catch {
      checkpointFailed(on: writer, error)
      lookLater()
    }
  }

  /// By time, because a service without commits has no checkpoints.
  private func lookLater() {
    guard !isLookScheduled, breakage == nil else { return }
    isLookScheduled = true
    queue.asyncAfter(deadline: .now() + Self.lookInterval) {
      self.add { self.look() }
    }
  }

  private func look() {
    isLookScheduled = false
    guard owesEmptyLog else { return }
    checkpointer.copy { progress in
      self.add { self.looked(progress) }
    }
  }

  /// Pages that came during a long read are copied beside the commits, and only the small rest on the writer.
  private func looked(_ result: Result<SQLiteConnection.CheckpointProgress, SQLiteError>) {
    guard let writer, breakage == nil, owesEmptyLog else { return }
    switch result {
    case .success(let progress) where progress.walFrames - progress.copiedFrames <= CheckpointSchedule.writerFrames:
      emptyLog(of: writer)
    case .success: lookLater()
    case .failure(let error):
      checkpointFailed(on: writer, error)
      lookLater()
    }
  }

  private func copyOnWriter() {
    guard let writer else { return }
    if owesEmptyLog { emptyLog(of: writer) }
    guard breakage == nil else { return }
    do throws(SQLiteError) {
      let progress = try writer.connection.checkpoint()
      schedule.copiedOnWriter(copiedFrames: progress.copiedFrames, walFrames: progress.walFrames)
      counters.withLock { $0.checkpoints += 1 }
    } catch {
      schedule.failed(walFrames: writer.connection.walFrames)
      checkpointFailed(on: writer, error)
    }
  }
}

extension StoreStatistics {
  /// Returns how many of them are commits.
  fileprivate mutating func count(_ answers: [WriteAnswer], walFrames: Int) -> Int {
    let commitsBefore = commits
    transactions += 1
    self.walFrames = walFrames
    for answer in answers {
      switch answer {
      case .committed: commits += 1
      case .refused: conflicts += 1
      case .unfinished, .upkept: break
      }
    }
    return Int(commits - commitsBefore)
  }
}
