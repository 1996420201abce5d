// A write that waits for its batch, and what it is answered.

internal import TouchstonePolicy
internal import TouchstoneStore

/// As in `Store`.
typealias StoreCompletion<Value> = @Sendable (Result<Value, StoreError>) -> Void

enum PendingWrite: Sendable {
  /// With what was found for each of its erasures.
  case commit(ChangeSet, [FoundEvents], StoreCompletion<Void>)
  case sweep(before: UnixTime, StoreCompletion<SweepResult>)
  case probe(StoreCompletion<Void>)
  case keyCheck([UInt8], StoreCompletion<[UInt8]>)
  case drop(ArchivedEvents, StoreCompletion<Void>)
  case beginSigning(StoreCompletion<Void>)

  func fail(_ error: StoreError) {
    switch self {
    case .commit(_, _, let completion): completion(.failure(error))
    case .sweep(_, let completion): completion(.failure(error))
    case .probe(let completion): completion(.failure(error))
    case .keyCheck(_, let completion): completion(.failure(error))
    case .drop(_, let completion): completion(.failure(error))
    case .beginSigning(let completion): completion(.failure(error))
    }
  }

  /// Whoever asks whether there is a disk is not to be told that there is a crowd.
  var isProbe: Bool {
    if case .probe = self { true } else { false }
  }
}

/// Delivered only after the transaction is durable.
enum WriteAnswer: Sendable {
  case committed(StoreCompletion<Void>)
  case refused(StoreCompletion<Void>, StoreError)
  case swept(StoreCompletion<SweepResult>, SweepResult)
  case probed(StoreCompletion<Void>)
  case keyCheck(StoreCompletion<[UInt8]>, [UInt8])

  func deliver() {
    switch self {
    case .committed(let completion): completion(.success(()))
    case .refused(let completion, let conflict): completion(.failure(conflict))
    case .swept(let completion, let result): completion(.success(result))
    case .probed(let completion): completion(.success(()))
    case .keyCheck(let completion, let check): completion(.success(check))
    }
  }
}

/// Why a whole batch failed.
struct BatchFailure: Error, Sendable, Hashable {
  /// What each of its writes is answered.
  var answer: StoreError
  /// Nothing may be written any more.
  var isFinal: Bool

  /// Before COMMIT: nothing was written.
  init(beforeCommit error: SQLiteError) {
    self.init(answer: StoreError(error), isFinal: false)
  }

  /// In COMMIT. Without room, without the lock, or where a write was refused, the log has no end of this transaction, and
  /// the next one takes its place. After any other failure, of an fsync above all, no one can tell what the disk holds,
  /// and a second fsync would not tell either: stop, and write the log anew at start.
  init(inCommit error: SQLiteError) {
    if [.full, .busy].contains(error.code.primary) || error.code == .ioErrorWrite {
      self.init(beforeCommit: error)
    } else {
      self.init(answer: StoreError(code: .inDoubt, message: "a commit failed: \(error.text)"), isFinal: true)
    }
  }

  /// In a checkpoint, which loses nothing: the log still has it all. But after a failed fsync the kernel takes pages for
  /// written that are not, and does not try again. A later checkpoint would believe it, and give up the log that
  /// has them. `nil`: it may be tried again.
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
