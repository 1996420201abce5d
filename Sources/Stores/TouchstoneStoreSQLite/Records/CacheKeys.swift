// The keys of records in memory: identifiers by their bytes, hashed once.

internal import Glibc
internal import TouchstoneStore

/// A key by which `CommittedState` looks records up.
protocol CacheKey: Hashable, Sendable {
  /// A hash of the bytes. It picks the partition, and then the place in it.
  var byteHash: Int { get }
}

extension CacheKey {
  func hash(into hasher: inout Hasher) {
    hasher.combine(byteHash)
  }
}

/// A key of a binding, a device or a profile. What it does for each look-up is inlined, so that no dictionary is
/// retained.
protocol RecordKey: CacheKey {
  associatedtype Record: VersionedRecord

  static func withRecords<Result>(
    in partition: inout CommittedState.Partition, _ body: (inout RecentRecords<Self, Record>) -> Result
  ) -> Result
  /// The version after a batch so far. `nil`: the batch has not written the record.
  func version(in effects: BatchEffects) -> RecordVersion?
  /// A device or a profile of which nothing is known has version 0.
  func read(by reader: RecordReader) throws(SQLiteError) -> Record?
}

/// An identifier compared byte for byte: `String` takes two spellings of "é" for equal, the database does not.
struct ByteString: CacheKey {
  let text: String
  let byteHash: Int

  init(_ text: String) {
    self.text = text
    var hasher = Hasher()
    hasher.combine(bytesOf: text)
    byteHash = hasher.finalize()
  }

  static func == (left: ByteString, right: ByteString) -> Bool {
    left.byteHash == right.byteHash && left.text.hasSameBytes(as: right.text)
  }
}

extension ByteString: RecordKey {
  @inline(__always)
  static func withRecords<Result>(
    in partition: inout CommittedState.Partition, _ body: (inout RecentRecords<Self, BindingRecord>) -> Result
  ) -> Result { body(&partition.bindings) }

  @inline(__always)
  func version(in effects: BatchEffects) -> RecordVersion? {
    effects.bindings[self]?.put.map { $0?.value.version ?? 0 }
  }

  func read(by reader: RecordReader) throws(SQLiteError) -> BindingRecord? { try reader.binding(id: text) }
}

/// A vendor's device. In two parts, because lookups have them separately and need not join them.
struct DeviceKey: CacheKey {
  let vendor: Vendor
  let deviceID: String
  let byteHash: Int

  init(vendor: Vendor, deviceID: String) {
    self.vendor = vendor
    self.deviceID = deviceID
    var hasher = Hasher()
    hasher.combine(vendor.kind)
    hasher.combine(bytesOf: vendor.name)
    hasher.combine(bytesOf: deviceID)
    byteHash = hasher.finalize()
  }

  static func == (left: DeviceKey, right: DeviceKey) -> Bool {
    left.byteHash == right.byteHash && left.vendor.kind == right.vendor.kind
      && left.deviceID.hasSameBytes(as: right.deviceID) && left.vendor.name.hasSameBytes(as: right.vendor.name)
  }
}

extension DeviceKey: RecordKey {
  init(_ device: DeviceRecord) {
    self.init(vendor: device.vendor, deviceID: device.deviceID)
  }

  @inline(__always)
  static func withRecords<Result>(
    in partition: inout CommittedState.Partition, _ body: (inout RecentRecords<Self, DeviceRecord>) -> Result
  ) -> Result { body(&partition.devices) }

  @inline(__always)
  func version(in effects: BatchEffects) -> RecordVersion? { effects.devices[self].map { $0?.version ?? 0 } }

  func read(by reader: RecordReader) throws(SQLiteError) -> DeviceRecord? {
    try reader.device(id: deviceID, vendor: vendor) ?? unknown
  }

  var unknown: DeviceRecord { DeviceRecord(deviceID: deviceID, vendor: vendor) }
}

/// A profile is one account in one application.
struct ProfileKey: CacheKey {
  let applicationID: String
  let profileID: String
  let byteHash: Int

  init(applicationID: String, profileID: String) {
    self.applicationID = applicationID
    self.profileID = profileID
    var hasher = Hasher()
    hasher.combine(bytesOf: applicationID)
    hasher.combine(bytesOf: profileID)
    byteHash = hasher.finalize()
  }

  static func == (left: ProfileKey, right: ProfileKey) -> Bool {
    left.byteHash == right.byteHash && left.profileID.hasSameBytes(as: right.profileID)
      && left.applicationID.hasSameBytes(as: right.applicationID)
  }
}

extension ProfileKey: RecordKey {
  @inline(__always)
  static func withRecords<Result>(
    in partition: inout CommittedState.Partition, _ body: (inout RecentRecords<Self, ProfileRecord>) -> Result
  ) -> Result { body(&partition.profiles) }

  @inline(__always)
  func version(in effects: BatchEffects) -> RecordVersion? { effects.profiles[self].map { $0?.version ?? 0 } }

  func read(by reader: RecordReader) throws(SQLiteError) -> ProfileRecord? {
    try reader.profile(applicationID: applicationID, profileID: profileID) ?? unknown
  }

  var unknown: ProfileRecord { ProfileRecord(applicationID: applicationID, profileID: profileID) }
}

extension Hasher {
  fileprivate mutating func combine(bytesOf text: String) {
    text.withBytes { combine(bytes: $0) }
  }
}

extension String {
  fileprivate func hasSameBytes(as other: String) -> Bool {
    withBytes { bytes in
      other.withBytes {
        bytes.count == $0.count && (bytes.isEmpty || memcmp(bytes.baseAddress!, $0.baseAddress!, bytes.count) == 0)
      }
    }
  }

  /// `withUTF8` wants a string to change, and so a copy of this one, with its reference counted.
  @inline(__always)
  fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    return Array(utf8).withUnsafeBytes(body)
  }
}
