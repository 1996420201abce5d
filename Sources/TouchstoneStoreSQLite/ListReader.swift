// Reads that may take long, on a connection and a queue of their own.

internal import Dispatch
internal import TouchstoneStore

/// `@unchecked Sendable`: `connection` is touched on `queue` alone.
final class ListReader: @unchecked Sendable {
  struct Lists {
    let records: RecordReader
    let events: EventLog
  }

  private let queue = DispatchQueue(label: "touchstone.sqlite.lists")
  /// `nil` once closed.
  private var lists: Lists?

  init(path: String) throws(SQLiteError) {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    lists = Lists(records: try RecordReader(on: connection), events: try EventLog(on: connection))
  }

  func read<Value>(
    _ completion: @escaping StoreCompletion<Value>, _ body: @escaping @Sendable (Lists) throws(SQLiteError) -> Value
  ) {
    queue.async {
      guard let lists = self.lists else { return completion(.failure(.closed)) }
      do throws(SQLiteError) {
        completion(.success(try body(lists)))
      } catch {
        completion(.failure(StoreError(error)))
      }
    }
  }

  func close(completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.lists = nil
      completion()
    }
  }
}
