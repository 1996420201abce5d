// Decides when to copy the write-ahead log into the database, and on which thread.

internal import Dispatch

/// A value: commits and finished copies in, what to do out.
///
/// SQLite's automatic checkpoint runs inside a commit, which then takes milliseconds. Here most of the log is copied
/// beside the commits. The writer copies only the rest that came meanwhile, so that the log starts from its beginning
/// again and does not grow without end.
struct CheckpointSchedule {
  /// The writer's own copying takes about a millisecond.
  static let writerFrames = 250
  /// If commits outrun the copying, the writer takes the rest after this many rounds.
  static let maximumRounds = 4

  enum Action: Hashable {
    case none
    case copyBesideCommits
    case copyOnWriter
  }

  /// As many frames are worth copying.
  private let startFrames: Int
  private var rounds = 0
  /// The log's length at which copying begins.
  private var nextStart: Int

  init(startFrames: Int) {
    self.startFrames = startFrames
    nextStart = startFrames
  }

  /// A commit left the log this long.
  mutating func committed(walFrames: Int) -> Action {
    guard rounds == 0, walFrames >= nextStart else { return .none }
    rounds = 1
    return .copyBesideCommits
  }

  /// `walFrames`: by now.
  mutating func copiedBesideCommits(copiedFrames: Int, walFrames: Int) -> Action {
    guard walFrames - copiedFrames > Self.writerFrames, rounds < Self.maximumRounds else { return .copyOnWriter }
    rounds += 1
    return .copyBesideCommits
  }

  /// A log that was copied as a whole starts anew with the next commit. If a long reader keeps it, it grows until the
  /// next time.
  mutating func copiedOnWriter(copiedFrames: Int, walFrames: Int) {
    rounds = 0
    nextStart = copiedFrames >= walFrames ? startFrames : walFrames + startFrames
  }

  /// A copy failed: nothing is lost, it is tried again when the log has grown.
  mutating func failed(walFrames: Int) {
    rounds = 0
    nextStart = walFrames + startFrames
  }
}

/// `@unchecked Sendable`: `connection` is used only on `queue`.
final class Checkpointer: @unchecked Sendable {
  private let queue = DispatchQueue(label: "touchstone.sqlite.checkpoint", qos: .utility)
  /// `nil` once closed.
  private var connection: SQLiteConnection?

  init(path: String, virtualFileSystem: String?) throws(SQLiteError) {
    connection = try SQLiteConnection(path: path, access: .readWrite, virtualFileSystem: virtualFileSystem)
    try connection?.execute("PRAGMA synchronous = FULL")
  }

  func copy(completion: @escaping @Sendable (Result<SQLiteConnection.CheckpointProgress, SQLiteError>) -> Void) {
    queue.async {
      guard let connection = self.connection else { return }
      completion(Result { () throws(SQLiteError) in try connection.checkpoint() })
    }
  }

  func close(completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.connection = nil
      completion()
    }
  }
}
