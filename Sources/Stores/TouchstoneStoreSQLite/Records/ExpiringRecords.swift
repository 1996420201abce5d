// Evaluations and tokens in memory: every row from a point in time on, so that a row that is not here is nowhere.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Most evaluations and tokens have no row, and an evaluation's first attempt should not read the disk to find that
/// out.
///
/// A value without a lock. The writer publishes all that it commits; if that grows over the bound, the rows that expire
/// first go, and from then on only keys after them are answered for.
struct ExpiringRecords<Record: VersionedRecord> {
  private let capacity: Int
  /// By the second of their expiry: dropping the first of them is dropping a dictionary.
  private var seconds: [Int64: [ExpiringKey: Record]] = [:]
  private(set) var count = 0
  /// All rows with this expiry or a later one are here.
  private(set) var isCompleteFrom: UnixTime

  /// Empty; `isCompleteFrom`: the database has no rows with this expiry or a later one.
  init(capacity: Int, isCompleteFrom: UnixTime) {
    self.capacity = max(1, capacity)
    self.isCompleteFrom = isCompleteFrom
  }

  func lookUp(_ key: ExpiringKey) -> CacheLookup<Record> {
    guard key.expiresAt >= isCompleteFrom else { return .unknown }
    return CacheLookup(seconds[key.expiresAt.seconds]?[key])
  }

  mutating func publish(_ record: Record, for key: ExpiringKey) {
    guard key.expiresAt >= isCompleteFrom else { return }
    if seconds[key.expiresAt.seconds, default: [:]].updateValue(record, forKey: key) == nil { count += 1 }
    if count > capacity { makeRoom() }
  }

  /// Lets go of what expires before `time`: it may be swept, or there is no room for it.
  mutating func forget(before time: UnixTime) {
    isCompleteFrom = max(isCompleteFrom, time)
    let expired = seconds.keys.filter { $0 < time.seconds }
    for second in expired { drop(second) }
  }

  /// A quarter at once, so that looking for what expires first costs each record next to nothing.
  private mutating func makeRoom() {
    for second in seconds.keys.sorted() {
      guard count > capacity / 4 * 3 else { return }
      drop(second)
      isCompleteFrom = max(isCompleteFrom, UnixTime(seconds: second + 1))
    }
  }

  private mutating func drop(_ second: Int64) {
    count -= seconds.removeValue(forKey: second)?.count ?? 0
  }
}
