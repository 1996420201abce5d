// The committed records that memory holds: read on every path, written by the writer alone.

internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneStore

/// Bounded, and split so that threads seldom meet at a lock.
final class CommittedState: Sendable {
  /// Enough that two of a machine's threads rarely want the same one.
  static let partitionCount = 16

  struct Partition {
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

  func lookUp<Key: RecordKey>(_ key: Key) -> CacheLookup<SharedRecord<Key.Record>> {
    partition(of: key).state.withLock { Key.withRecords(in: &$0) { $0.lookUp(key) } }
  }

  /// 0: there is no such record. `nil`: only the database can answer.
  func version(of key: some RecordKey) -> RecordVersion? {
    partition(of: key).state.withLock { type(of: key).withRecords(in: &$0) { $0.version(of: key) } }
  }

  func evaluation(_ key: ExpiringKey) -> CacheLookup<EvaluationRecord> {
    partition(of: key).state.withLock { $0.evaluations.lookUp(key) }
  }

  func token(_ key: ExpiringKey) -> CacheLookup<TokenRecord> {
    partition(of: key).state.withLock { $0.tokens.lookUp(key) }
  }

  /// Keeps what `read` finds in the database, unless something was published meanwhile.
  func filling<Key: RecordKey, Failure>(
    _ key: Key, _ read: () throws(Failure) -> Key.Record?
  ) throws(Failure) -> SharedRecord<Key.Record>? {
    let partition = partition(of: key)
    let revision = partition.state.withLock { Key.withRecords(in: &$0) { $0.revision } }
    let record = try read().map { SharedRecord($0) }
    partition.state.withLock { Key.withRecords(in: &$0) { $0.fill(record, for: key, readAt: revision) } }
    return record
  }

  // MARK: Publishing: the writer, after a commit and before it is answered

  func publish(_ effects: BatchEffects) {
    for (id, effect) in effects.bindings {
      partition(of: id).state.withLock { effect.publish(to: &$0.bindings, for: id) }
    }
    for (key, device) in effects.devices {
      partition(of: key).state.withLock { $0.devices.publish(device.map { SharedRecord($0) }, for: key) }
    }
    for (key, profile) in effects.profiles {
      partition(of: key).state.withLock { $0.profiles.publish(profile.map { SharedRecord($0) }, for: key) }
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
  var bindings: [ByteString: BindingEffect] = [:]
  /// `nil`: swept.
  var devices: [DeviceKey: DeviceRecord?] = [:]
  /// `nil`: erased or swept.
  var profiles: [ProfileKey: ProfileRecord?] = [:]
  var evaluations: [ExpiringKey: EvaluationRecord] = [:]
  var tokens: [ExpiringKey: TokenRecord] = [:]
  var sweptBefore: UnixTime?
  var containErasure = false
  /// Events that an erasure found to be other than they were written.
  var foundFaults: [EventChainVerifier.Fault] = []
  /// From now on accounts are signed.
  var beginSigning = false
}

/// The changes of one binding: its row, and what most commits change without reading the row.
struct BindingEffect {
  /// `nil`: not written as a whole, or erased where the value is `.some(nil)`.
  var put: SharedRecord<BindingRecord>??
  // Later than `put`.
  var lastUsedAt: UnixTime?
  var lastSeen: SeenPosture?
  var proofCounter: UInt32?

  func publish(to bindings: inout RecentRecords<ByteString, BindingRecord>, for id: ByteString) {
    if let put { bindings.publish(put, for: id) }
    guard lastUsedAt != nil || lastSeen != nil || proofCounter != nil else { return }
    bindings.publish(for: id) { binding in
      if let lastUsedAt { binding.lastUsedAt = lastUsedAt }
      if let lastSeen { binding.lastSeen = lastSeen }
      if let proofCounter { binding.proofCounter = proofCounter }
    }
  }
}
