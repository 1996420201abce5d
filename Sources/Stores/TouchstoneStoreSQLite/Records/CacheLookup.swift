// The result of a look-up in a cache, and the version that the cache needs of each record.

internal import TouchstonePolicy
internal import TouchstoneStore

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
