// Copies the write-ahead log into the database beside the commits, on a connection and a queue of its own.

internal import Dispatch

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
