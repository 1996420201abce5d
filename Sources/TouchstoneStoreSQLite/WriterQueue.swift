// Group commit: all writes that wait go into one transaction and one fsync; nothing waits for more to come.

internal import Dispatch
internal import Glibc
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// The only way to write. Bounded: over the bound a write is refused at once.
///
/// `@unchecked Sendable`: `writer` and `schedule` are touched on `queue` alone.
final class WriterQueue: @unchecked Sendable {
  private struct Waiting {
    var writes: [PendingWrite] = []
    /// A drain is running or about to.
    var isDraining = false
    /// Set: nothing is accepted any more.
    var refusal: StoreError?
  }

  private let waiting = Mutex(Waiting())
  private let counters = Mutex(StoreStatistics())
  private let maximumWaiting: Int
  private let maximumBatch: Int
  private let queue = DispatchQueue(label: "touchstone.sqlite.writer")
  /// Answers run while the next batch is already being written.
  private let answerQueue = DispatchQueue(label: "touchstone.sqlite.answers")
  private let checkpointer: Checkpointer
  private var writer: BatchWriter?
  private var schedule = CheckpointSchedule()

  init(writer: BatchWriter, checkpointer: Checkpointer, options: SQLiteStoreOptions) {
    self.writer = writer
    self.checkpointer = checkpointer
    maximumWaiting = options.maximumWaitingWrites
    maximumBatch = options.maximumBatchWrites
  }

  var statistics: StoreStatistics { counters.withLock { $0 } }

  func submit(_ write: PendingWrite) {
    let (refusal, mustDrain) = waiting.withLock { waiting -> (StoreError?, Bool) in
      if let refusal = waiting.refusal { return (refusal, false) }
      guard waiting.writes.count < maximumWaiting else {
        return (StoreError(code: .unavailable, message: "\(maximumWaiting) writes are waiting already"), false)
      }
      waiting.writes.append(write)
      defer { waiting.isDraining = true }
      return (nil, !waiting.isDraining)
    }
    if let refusal {
      counters.withLock { $0.overloads += refusal == .closed ? 0 : 1 }
      write.fail(refusal)
    } else if mustDrain {
      queue.async { self.drain() }
    }
  }

  /// What was accepted is finished first.
  func close(completion: @escaping @Sendable () -> Void) {
    waiting.withLock { $0.refusal = .closed }
    queue.async {
      self.drain()
      self.answerQueue.async {
        self.checkpointer.close {
          // Last: closing the last connection empties the log into the database.
          self.queue.async {
            self.writer = nil
            completion()
          }
        }
      }
    }
  }

  // MARK: On the queue

  private func drain() {
    while let batch = nextBatch() { write(batch) }
  }

  private func nextBatch() -> [PendingWrite]? {
    waiting.withLock { waiting in
      guard !waiting.writes.isEmpty else {
        waiting.isDraining = false
        return nil
      }
      guard waiting.writes.count > maximumBatch else {
        defer { waiting.writes = [] }
        return waiting.writes
      }
      let batch = Array(waiting.writes.prefix(maximumBatch))
      waiting.writes.removeFirst(maximumBatch)
      return batch
    }
  }

  private func write(_ batch: [PendingWrite]) {
    guard let writer else { return fail(batch, .closed) }
    do throws(BatchFailure) {
      let answers = try writer.write(batch)
      let frames = writer.connection.walFrames
      counters.withLock { $0.count(answers, walFrames: frames) }
      answerQueue.async {
        for answer in answers { answer.deliver() }
      }
      perform(schedule.committed(walFrames: frames))
    } catch {
      counters.withLock { $0.failedTransactions += 1 }
      if error.isFinal { waiting.withLock { $0.refusal = $0.refusal ?? .broken } }
      fail(batch, error.answer)
    }
  }

  private func fail(_ batch: [PendingWrite], _ error: StoreError) {
    answerQueue.async {
      for write in batch { write.fail(error) }
    }
  }

  // MARK: Checkpoints

  private func perform(_ action: CheckpointSchedule.Action) {
    switch action {
    case .none: break
    case .copyOnWriter: copyOnWriter()
    case .copyBesideCommits:
      checkpointer.copy { progress in
        self.queue.async { self.copied(progress) }
      }
    }
  }

  private func copied(_ progress: SQLiteConnection.CheckpointProgress?) {
    guard let writer else { return }
    let frames = writer.connection.walFrames
    guard let progress else { return schedule.failed(walFrames: frames) }
    perform(schedule.copiedBesideCommits(copiedFrames: progress.copiedFrames, walFrames: frames))
  }

  private func copyOnWriter() {
    guard let writer else { return }
    do throws(SQLiteError) {
      let progress = try writer.connection.checkpoint()
      schedule.copiedOnWriter(copiedFrames: progress.copiedFrames, walFrames: progress.walFrames)
      counters.withLock { $0.checkpoints += 1 }
    } catch {
      schedule.failed(walFrames: writer.connection.walFrames)
    }
  }
}

extension StoreStatistics {
  fileprivate mutating func count(_ answers: [WriteAnswer], walFrames: Int) {
    transactions += 1
    self.walFrames = walFrames
    for answer in answers {
      switch answer {
      case .committed: commits += 1
      case .refused: conflicts += 1
      case .swept: break
      }
    }
  }
}
