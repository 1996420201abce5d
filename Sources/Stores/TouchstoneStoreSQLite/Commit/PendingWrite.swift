// A write that waits for its batch, and its answer.

internal import TouchstoneStore

/// As in `Store`.
typealias StoreCompletion<Value> = @Sendable (Result<Value, StoreError>) -> Void

enum PendingWrite: Sendable {
  /// With what is left of each of its erasures.
  case commit(ChangeSet, [EventErasure], StoreCompletion<Void>)
  case upkeep(Upkeep)

  func fail(_ error: StoreError) {
    switch self {
    case .commit(_, _, let completion): completion(.failure(error))
    case .upkeep(let upkeep): upkeep.fail(error)
    }
  }

  /// The health probe bypasses the queue limit, so that a full queue is not reported as a disk failure.
  var isProbe: Bool {
    if case .upkeep(let upkeep) = self { upkeep.isProbe } else { false }
  }
}

/// Work of the writer's beside commits, in the transaction of those that wait with it.
struct Upkeep: Sendable {
  /// Returns the delivery of its answer, for when the transaction is durable.
  let write: @Sendable (BatchWriter) throws(SQLiteError) -> @Sendable () -> Void
  let fail: @Sendable (StoreError) -> Void
  let isProbe: Bool

  init<Value: Sendable>(
    isProbe: Bool = false, _ completion: @escaping StoreCompletion<Value>,
    _ write: @escaping @Sendable (BatchWriter) throws(SQLiteError) -> Result<Value, StoreError>
  ) {
    self.isProbe = isProbe
    self.write = { writer throws(SQLiteError) in
      let answer = try write(writer)
      return { completion(answer) }
    }
    fail = { completion(.failure($0)) }
  }
}

/// Delivered only after the transaction is durable.
enum WriteAnswer: Sendable {
  case committed(StoreCompletion<Void>)
  /// This part is durable, and the next one must be written: there is no answer yet.
  case unfinished(PendingWrite)
  case refused(StoreCompletion<Void>, StoreError)
  case upkept(@Sendable () -> Void)

  var rest: PendingWrite? {
    if case .unfinished(let rest) = self { rest } else { nil }
  }

  func deliver() {
    switch self {
    case .committed(let completion): completion(.success(()))
    case .unfinished: break
    case .refused(let completion, let conflict): completion(.failure(conflict))
    case .upkept(let deliver): deliver()
    }
  }
}

/// The reason why a whole batch failed.
struct BatchFailure: Error, Sendable, Hashable {
  /// The answer to each of its writes.
  var answer: StoreError
  /// Nothing may be written any more.
  var isFinal: Bool

  /// Before COMMIT: nothing was written.
  init(beforeCommit error: SQLiteError) {
    self.init(answer: StoreError(error), isFinal: false)
  }

  /// In COMMIT. Without room, without the lock, or after a refused write, the log has no end of this transaction, and
  /// the next one takes its place. After any other failure, especially of an fsync, the disk's content is unknown, and
  /// a second fsync would not show it: the store stops, and writes the log anew at the next start.
  init(inCommit error: SQLiteError) {
    if [.full, .busy].contains(error.code.primary) || error.code == .ioErrorWrite {
      self.init(beforeCommit: error)
    } else {
      self.init(answer: StoreError(code: .inDoubt, message: "a commit failed: \(error.text)"), isFinal: true)
    }
  }

  /// In a checkpoint, which loses nothing, because the log still has everything. But after a failed fsync the kernel
  /// treats unwritten pages as written. A later checkpoint would begin the log anew, which has these pages. `nil`: it
  /// may be tried again.
  init?(inCheckpoint error: SQLiteError) {
    guard error.code == .ioErrorSync else { return nil }
    self.init(answer: StoreError(code: .unavailable, message: "a checkpoint failed: \(error.text)"), isFinal: true)
  }

  private init(answer: StoreError, isFinal: Bool) {
    self.answer = answer
    self.isFinal = isFinal
  }
}

extension StoreError {
  static let overloaded = StoreError(code: .unavailable, message: "too many writes are waiting")

  /// After a failure that is final.
  static func broken(by cause: StoreError) -> StoreError {
    StoreError(
      code: .unavailable, remedy: .checkDiskAndRestart,
      message: "\(cause.message); check the disk, then start the service again")
  }
}
