// Bindings, devices and profiles in memory: a bounded number of those that were used lately.

internal import TouchstoneStore

/// Two generations: a record that is used moves to the young one; when that is full the old one is dropped whole.
/// Records that were used lately therefore stay, and neither a list nor a time has to be kept for each of them.
///
/// A value without a lock. It holds exactly what is committed: `publish` comes from the writer after a commit; what a
/// reader found is taken by `fill` only if nothing was published since that reader began.
struct RecentRecords<Key: Hashable & Sendable, Record: VersionedRecord> {
  /// Counts what was published.
  typealias Revision = UInt64

  private let generationCapacity: Int
  private var young: [Key: SharedRecord<Record>?] = [:]
  private var old: [Key: SharedRecord<Record>?] = [:]
  private(set) var revision: Revision = 0

  init(capacity: Int) {
    generationCapacity = max(1, capacity / 2)
  }

  var count: Int { young.count + old.count }

  mutating func lookUp(_ id: Key) -> CacheLookup<SharedRecord<Record>> {
    if let known = young[id] { return CacheLookup(known) }
    guard let known = old.removeValue(forKey: id) else { return .unknown }
    insert(known, for: id)
    return CacheLookup(known)
  }

  /// 0: there is no such record. `nil`: only the database can answer.
  func version(of id: Key) -> RecordVersion? {
    (young[id] ?? old[id]).map { $0?.value.version ?? 0 }
  }

  /// `nil`: there is no such record.
  mutating func publish(_ record: SharedRecord<Record>?, for id: Key) {
    revision += 1
    old.removeValue(forKey: id)
    insert(record, for: id)
  }

  /// Changes a record that is here.
  mutating func publish(for id: Key, _ change: (inout Record) -> Void) {
    revision += 1
    if let slot = young.index(forKey: id) {
      young.values[slot] = young.values[slot]?.changed(by: change)
    } else if let slot = old.index(forKey: id) {
      old.values[slot] = old.values[slot]?.changed(by: change)
    }
  }

  /// `revision`: from before the database was read.
  mutating func fill(_ record: SharedRecord<Record>?, for id: Key, readAt revision: Revision) {
    guard revision == self.revision else { return }
    old.removeValue(forKey: id)
    insert(record, for: id)
  }

  private mutating func insert(_ record: SharedRecord<Record>?, for id: Key) {
    if young.count >= generationCapacity, young[id] == nil {
      old = young
      young = Dictionary(minimumCapacity: generationCapacity)
    }
    young[id] = .some(record)
  }
}

extension SharedRecord {
  /// Returns a changed copy: readers may still hold this record.
  fileprivate func changed(by change: (inout Record) -> Void) -> SharedRecord {
    var record = value
    change(&record)
    return SharedRecord(record)
  }
}

enum CacheLookup<Record> {
  case present(Record)
  /// The database has no such record.
  case absent
  /// Only the database can answer.
  case unknown

  init(_ record: Record?) {
    self = record.map { .present($0) } ?? .absent
  }
}

extension CacheLookup where Record: VersionedRecord {
  /// 0: there is no such record. `nil`: only the database can answer.
  var version: RecordVersion? {
    switch self {
    case .present(let record): record.version
    case .absent: 0
    case .unknown: nil
    }
  }
}

protocol VersionedRecord: Sendable {
  var version: RecordVersion { get }
}

extension BindingRecord: VersionedRecord {}
extension DeviceRecord: VersionedRecord {}
extension ProfileRecord: VersionedRecord {}
extension EvaluationRecord: VersionedRecord {}
extension TokenRecord: VersionedRecord {}

extension SharedRecord: VersionedRecord where Record: VersionedRecord {
  var version: RecordVersion { value.version }
}
