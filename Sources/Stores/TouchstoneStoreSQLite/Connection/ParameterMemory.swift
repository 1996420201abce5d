// The memory in which a statement keeps the texts and blobs that are bound to it.

internal import CSQLite

/// Without it, SQLite would allocate a copy of each value at each use of the statement, and free it again.
///
/// Confined like its statement.
final class ParameterMemory {
  /// Room for an event with identifiers of usual lengths. SQLite copies what does not fit.
  private static let byteCount = 1_024

  /// `nil` until the first use, because many statements are never used.
  private var bytes: UnsafeMutableRawPointer?
  private var usedCount = 0

  deinit {
    bytes?.deallocate()
  }

  /// Calls `bind` with a place of the value that stays valid until the statement is bound anew, or with the value's own
  /// place and SQLite's order to copy it.
  func withPlace(
    of value: UnsafeRawBufferPointer, _ bind: (UnsafeRawPointer, sqlite3_destructor_type?) -> Int32
  ) -> Int32 {
    guard value.count <= Self.byteCount - usedCount else { return bind(value.baseAddress!, csqlite_transient()) }
    let place = memory() + usedCount
    usedCount += value.count
    if let source = value.baseAddress { place.copyMemory(from: source, byteCount: value.count) }
    // Not null, also for an empty value: a null pointer would bind NULL.
    return bind(place, nil)
  }

  /// The statement is about to be bound anew.
  func reuse() {
    usedCount = 0
  }

  private func memory() -> UnsafeMutableRawPointer {
    if let bytes { return bytes }
    let allocated = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 1)
    bytes = allocated
    return allocated
  }
}
