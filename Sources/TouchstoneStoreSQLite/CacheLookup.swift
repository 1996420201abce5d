// What a cache can say of a record, and what it needs to know of one.

internal import Glibc
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

/// An identifier compared byte for byte: `String` takes two spellings of "é" for equal, the database does not.
struct ByteString: Hashable, Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: ByteString, right: ByteString) -> Bool {
    var left = left.text
    var right = right.text
    return left.withUTF8 { left in
      right.withUTF8 { right in
        left.count == right.count && (left.isEmpty || memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0)
      }
    }
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

/// A profile is one account in one application.
struct ProfileKey: Hashable, Sendable {
  let application: ByteString
  let profile: ByteString

  init(applicationID: String, profileID: String) {
    application = ByteString(applicationID)
    profile = ByteString(profileID)
  }
}
