// Reads that may take long, on a connection and a queue of their own.

internal import Dispatch
internal import Synchronization
internal import TouchstoneStore

/// `@unchecked Sendable`: `connection` is touched on `queue` alone.
final class ListReader: @unchecked Sendable {
  struct Lists {
    let records: RecordReader
    let events: EventLog
  }

  /// More reads are refused at once: one may take seconds, and no caller waits for the sum of so many.
  static let maximumWaiting = 64

  private let queue = DispatchQueue(label: "touchstone.sqlite.lists")
  /// Accepted and not answered yet.
  private let waiting = Atomic<Int>(0)
  /// `nil` once closed.
  private var lists: Lists?

  init(path: String) throws(SQLiteError) {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    lists = Lists(records: RecordReader(on: connection), events: EventLog(on: connection))
  }

  func read<Value>(
    _ completion: @escaping StoreCompletion<Value>, _ body: @escaping @Sendable (Lists) throws(SQLiteError) -> Value
  ) {
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.maximumWaiting else {
      waiting.subtract(1, ordering: .relaxed)
      return completion(.failure(.tooManyLists))
    }
    queue.async {
      let result = self.result(of: body)
      self.waiting.subtract(1, ordering: .relaxed)
      completion(result)
    }
  }

  private func result<Value>(of body: (Lists) throws(SQLiteError) -> Value) -> Result<Value, StoreError> {
    guard let lists else { return .failure(.closed) }
    do throws(SQLiteError) {
      return .success(try body(lists))
    } catch {
      return .failure(StoreError(error))
    }
  }

  func close(completion: @escaping @Sendable () -> Void) {
    queue.async {
      self.lists = nil
      completion()
    }
  }
}

extension StoreError {
  fileprivate static let tooManyLists = StoreError(code: .unavailable, message: "too many lists are waiting")
}
