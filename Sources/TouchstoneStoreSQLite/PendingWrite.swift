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

  func fail(_ error: StoreError) {
    switch self {
    case .commit(_, _, let completion): completion(.failure(error))
    case .sweep(_, let completion): completion(.failure(error))
    case .probe(let completion): completion(.failure(error))
    case .keyCheck(_, let completion): completion(.failure(error))
    case .drop(_, let completion): completion(.failure(error))
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

  /// In COMMIT. Without room or without the lock nothing was written. After any other failure, of an fsync above all,
  /// no one can tell what the disk holds, and a second fsync would not tell either: stop, and read it anew at start.
  init(inCommit error: SQLiteError) {
    switch error.code.primary {
    case .full, .busy: self.init(beforeCommit: error)
    default:
      self.init(
        answer: StoreError(code: .inDoubt, message: "commit failed: SQLite \(error.code.rawValue): \(error.message)"),
        isFinal: true)
    }
  }

  private init(answer: StoreError, isFinal: Bool) {
    self.answer = answer
    self.isFinal = isFinal
  }
}

extension StoreError {
  static let overloaded = StoreError(code: .unavailable, message: "too many writes are waiting")

  /// After a commit whose outcome is not known.
  static let broken = StoreError(
    code: .unavailable, message: "an earlier commit failed on the disk: check it, then start the service again")
}
