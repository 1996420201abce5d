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
      reader = Mutex(try RecordReader(on: connection))
    }
  }

  private let readers: [LockedReader]
  private let next = Atomic<Int>(0)

  init(path: String) throws(SQLiteError) {
    var readers: [LockedReader] = []
    for _ in 0..<Self.connectionCount { readers.append(try LockedReader(path: path)) }
    self.readers = readers
  }

  /// Takes tens of microseconds, more where the disk is asked.
  func read<Value: Sendable>(
    _ body: (RecordReader) throws(SQLiteError) -> Value
  ) throws(StoreError) -> Value {
    let turn = next.wrappingAdd(1, ordering: .relaxed).newValue
    let reader = readers[Int(truncatingIfNeeded: UInt(bitPattern: turn) % UInt(readers.count))]
    let result = reader.reader.withLock { reader -> Result<Value, StoreError> in
      guard let reader else { return .failure(.closed) }
      do throws(SQLiteError) {
        return .success(try body(reader))
      } catch {
        return .failure(StoreError(error))
      }
    }
    return try result.get()
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
