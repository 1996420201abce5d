// The committed records that memory holds: read on every path, written by the writer alone.

internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// Bounded, and split so that threads seldom meet at a lock.
final class CommittedState: Sendable {
  /// Enough that two of a machine's threads rarely want the same one.
  static let partitionCount = 16

  private struct Partition {
    var bindings: RecentRecords<ByteString, BindingRecord>
    var devices: RecentRecords<DeviceKey, DeviceRecord>
    var profiles: RecentRecords<ProfileKey, ProfileRecord>
    var evaluations: ExpiringRecords<EvaluationRecord>
    var tokens: ExpiringRecords<TokenRecord>
  }

  private final class LockedPartition: Sendable {
    let state: Mutex<Partition>

    init(_ partition: sending Partition) {
      state = Mutex(partition)
    }
  }

  private let partitions: [LockedPartition]

  /// `evaluationsCompleteFrom`, `tokensCompleteFrom`: from when on the database has no rows.
  init(options: SQLiteStoreOptions, evaluationsCompleteFrom: UnixTime, tokensCompleteFrom: UnixTime) {
    func share(_ count: Int) -> Int { count / Self.partitionCount }
    partitions = (0..<Self.partitionCount).map { _ in
      LockedPartition(
        Partition(
          bindings: RecentRecords(capacity: share(options.cachedBindings)),
          devices: RecentRecords(capacity: share(options.cachedDevices)),
          profiles: RecentRecords(capacity: share(options.cachedProfiles)),
          evaluations: ExpiringRecords(
            capacity: share(options.cachedEvaluations), isCompleteFrom: evaluationsCompleteFrom),
          tokens: ExpiringRecords(capacity: share(options.cachedTokens), isCompleteFrom: tokensCompleteFrom)))
    }
  }

  // MARK: Reading

  func binding(_ id: ByteString) -> CacheLookup<SharedRecord<BindingRecord>> {
    partition(of: id).state.withLock { $0.bindings.lookUp(id) }
  }

  func device(_ key: DeviceKey) -> CacheLookup<SharedRecord<DeviceRecord>> {
    partition(of: key).state.withLock { $0.devices.lookUp(key) }
  }

  func profile(_ key: ProfileKey) -> CacheLookup<SharedRecord<ProfileRecord>> {
    partition(of: key).state.withLock { $0.profiles.lookUp(key) }
  }

  func evaluation(_ key: ExpiringKey) -> CacheLookup<EvaluationRecord> {
    partition(of: key).state.withLock { $0.evaluations.lookUp(key) }
  }

  func token(_ key: ExpiringKey) -> CacheLookup<TokenRecord> {
    partition(of: key).state.withLock { $0.tokens.lookUp(key) }
  }

  /// 0: there is no such record. `nil`: only the database can answer.
  func version(ofBinding id: ByteString) -> RecordVersion? {
    partition(of: id).state.withLock { $0.bindings.version(of: id) }
  }

  /// 0: there is no such record. `nil`: only the database can answer.
  func version(of device: DeviceKey) -> RecordVersion? {
    partition(of: device).state.withLock { $0.devices.version(of: device) }
  }

  /// 0: there is no such record. `nil`: only the database can answer.
  func version(of profile: ProfileKey) -> RecordVersion? {
    partition(of: profile).state.withLock { $0.profiles.version(of: profile) }
  }

  // MARK: Filling: what was read from the database is kept, unless something was published meanwhile

  func fillingBinding<Failure>(
    _ id: ByteString, _ read: () throws(Failure) -> BindingRecord?
  ) throws(Failure) -> SharedRecord<BindingRecord>? {
    let partition = partition(of: id)
    let revision = partition.state.withLock { $0.bindings.revision }
    let binding = try read().map { SharedRecord($0) }
    partition.state.withLock { $0.bindings.fill(binding, for: id, readAt: revision) }
    return binding
  }

  func fillingDevice<Failure>(
    _ key: DeviceKey, _ read: () throws(Failure) -> DeviceRecord
  ) throws(Failure) -> SharedRecord<DeviceRecord> {
    let partition = partition(of: key)
    let revision = partition.state.withLock { $0.devices.revision }
    let device = SharedRecord(try read())
    partition.state.withLock { $0.devices.fill(device, for: key, readAt: revision) }
    return device
  }

  func fillingProfile<Failure>(
    _ key: ProfileKey, _ read: () throws(Failure) -> ProfileRecord
  ) throws(Failure) -> SharedRecord<ProfileRecord> {
    let partition = partition(of: key)
    let revision = partition.state.withLock { $0.profiles.revision }
    let profile = SharedRecord(try read())
    partition.state.withLock { $0.profiles.fill(profile, for: key, readAt: revision) }
    return profile
  }

  // MARK: Publishing: the writer, after a commit and before it is answered

  func publish(_ effects: BatchEffects) {
    for (id, binding) in effects.bindings {
      partition(of: id).state.withLock { $0.bindings.publish(binding, for: id) }
    }
    for (id, time) in effects.bindingUses {
      partition(of: id).state.withLock { $0.bindings.publish(for: id) { $0.lastUsedAt = time } }
    }
    for (id, posture) in effects.bindingPostures {
      partition(of: id).state.withLock { $0.bindings.publish(for: id) { $0.lastSeen = posture } }
    }
    for (id, counter) in effects.proofCounters {
      partition(of: id).state.withLock { $0.bindings.publish(for: id) { $0.proofCounter = counter } }
    }
    for (key, device) in effects.devices {
      partition(of: key).state.withLock { $0.devices.publish(device, for: key) }
    }
    for (key, profile) in effects.profiles {
      partition(of: key).state.withLock { $0.profiles.publish(profile, for: key) }
    }
    for (key, evaluation) in effects.evaluations {
      partition(of: key).state.withLock { $0.evaluations.publish(evaluation, for: key) }
    }
    for (key, token) in effects.tokens {
      partition(of: key).state.withLock { $0.tokens.publish(token, for: key) }
    }
    if let time = effects.sweptBefore { forgetExpired(before: time) }
  }

  private func forgetExpired(before time: UnixTime) {
    for partition in partitions {
      partition.state.withLock {
        $0.evaluations.forget(before: time)
        $0.tokens.forget(before: time)
      }
    }
  }

  private func partition(of key: some CacheKey) -> LockedPartition {
    partitions[Int(truncatingIfNeeded: UInt(bitPattern: key.byteHash) % UInt(Self.partitionCount))]
  }

  /// Ids are random: their bits are as good as a hash.
  private func partition(of key: ExpiringKey) -> LockedPartition {
    partitions[Int(truncatingIfNeeded: key.id.low % UInt64(Self.partitionCount))]
  }
}

/// The changes of a batch so far. They become committed state with the batch's transaction.
struct BatchEffects {
  /// `nil`: erased.
  var bindings: [ByteString: BindingRecord?] = [:]
  /// The latest use; of bindings that may not be in `bindings`.
  var bindingUses: [ByteString: UnixTime] = [:]
  /// The same.
  var bindingPostures: [ByteString: SeenPosture] = [:]
  /// The same.
  var proofCounters: [ByteString: UInt32] = [:]
  /// `nil`: swept.
  var devices: [DeviceKey: DeviceRecord?] = [:]
  /// `nil`: erased or swept.
  var profiles: [ProfileKey: ProfileRecord?] = [:]
  var evaluations: [ExpiringKey: EvaluationRecord] = [:]
  var tokens: [ExpiringKey: TokenRecord] = [:]
  var sweptBefore: UnixTime?
  var containErasure = false
}
