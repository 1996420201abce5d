// What a cache can say of a record, and what it needs to know of one.

internal import TouchstonePolicy
internal import TouchstoneStore

enum CacheLookup<Record> {
  case present(Record)
  /// The database has no such record.
  case absent
  /// Ask the database.
  case unknown

  init(_ record: Record?) {
    self = record.map { .present($0) } ?? .absent
  }
}

extension CacheLookup where Record: VersionedRecord {
  /// 0: there is no such record. `nil`: ask the database.
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
