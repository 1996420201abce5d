// A few connections for reads that memory could not answer, on the caller's own thread.

internal import Synchronization
internal import TouchstoneStore

final class ReaderPool: Sendable {
  /// As many reads at a time; each keeps up to 2 MB of pages.
  static let connectionCount = 4

  private final class LockedReader: Sendable {
    /// `nil` once closed.
    let reader: Mutex<RecordReader?>

    init(path: String) throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path, access: .readOnly)
      reader = Mutex(RecordReader(on: connection))
    }

    /// `nil`: another thread reads.
    func readIfFree<Value: Sendable>(
      _ body: (RecordReader) throws(SQLiteError) -> Value
    ) -> Result<Value, StoreError>? {
      reader.withLockIfAvailable { reader -> Result<Value, StoreError> in
        guard let reader else { return .failure(.closed) }
        do throws(SQLiteError) {
          return .success(try body(reader))
        } catch {
          return .failure(StoreError(error))
        }
      }
    }

    func read<Value: Sendable>(
      _ body: (RecordReader) throws(SQLiteError) -> Value
    ) -> Result<Value, StoreError> {
      reader.withLock { reader -> Result<Value, StoreError> in
        guard let reader else { return .failure(.closed) }
        do throws(SQLiteError) {
          return .success(try body(reader))
        } catch {
          return .failure(StoreError(error))
        }
      }
    }
  }

  private let readers: [LockedReader]
  private let next = Atomic<Int>(0)

  init(path: String) throws(SQLiteError) {
    var readers: [LockedReader] = []
    for _ in 0..<Self.connectionCount { readers.append(try LockedReader(path: path)) }
    self.readers = readers
  }

  /// Takes tens of microseconds, more if it reads the disk. The first one that is free reads: a connection forgets its
  /// pages with each commit, so readers that take turns would each read the upper pages of the tables again.
  func read<Value: Sendable>(
    _ body: (RecordReader) throws(SQLiteError) -> Value
  ) throws(StoreError) -> Value {
    for reader in readers {
      if let result = reader.readIfFree(body) { return try result.get() }
    }
    let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
    return try readers[Int(truncatingIfNeeded: UInt(bitPattern: turn) % UInt(readers.count))].read(body).get()
  }

  func close() {
    for reader in readers { reader.reader.withLock { $0 = nil } }
  }
}

extension StoreError {
  static let closed = StoreError(code: .unavailable, message: "the store is closed")

  /// The error of a call that wrote nothing.
  init(_ error: SQLiteError) {
    let isDamaged = [.corrupt, .notADatabase].contains(error.code.primary)
    self.init(code: isDamaged ? .corrupt : .unavailable, message: error.text)
  }
}
