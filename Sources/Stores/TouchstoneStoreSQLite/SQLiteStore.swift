// The store for one machine: SQLite in a data directory.

internal import Glibc
internal import Synchronization
public import TouchstonePolicy
public import TouchstoneStore

/// Every answer is durable: write-ahead log, an fsync at each commit, and waiting commits share one.
///
/// Bindings, devices, profiles, evaluations and tokens that were used lately are answered from memory, inside of the
/// call. Other records are read on the caller's thread, in tens of microseconds; lists are read on a queue of their
/// own. Commits are answered on a queue of the store's.
public final class SQLiteStore: Store {
  public let lineage: Lineage
  private let directory: DataDirectory
  private let committed: CommittedState
  private let readers: ReaderPool
  private let bindingLists: ListReader
  /// A separate reader, so that a search through a long log delays only other searches.
  private let eventLists: ListReader
  /// An erasure searches the whole log, so lists of events do not wait for it.
  let erasureSearches: ListReader
  private let writes: WriterQueue
  private let signer: AccountSigner
  private let isClosed = Atomic<Bool>(false)

  /// Opens the directory's store, or makes one: the directory with mode 0700 if it is missing (its parent is not
  /// made), files with mode 0600. Whatever is wrong, nothing that was there is changed.
  public static func open(
    directory path: String, options: SQLiteStoreOptions = SQLiteStoreOptions()
  ) throws(StoreOpenError) -> SQLiteStore {
    let directory = try DataDirectory(claiming: path)
    // A closed store leaves none.
    let hasLogLeft = directory.hasWriteAheadLog
    var accounts = AccountReview.none
    let connection = try DatabaseFile.open(
      in: directory, virtualFileSystem: options.virtualFileSystem,
      upgraded: { options.upgraded("\($0)", "\(Schema.version)") }, noteAccounts: { accounts = $0 })
    do throws(SQLiteError) {
      return try SQLiteStore(
        directory: directory, connection: connection, hasLogLeft: hasLogLeft, accounts: accounts, options: options)
    } catch {
      throw StoreOpenError(error, path: directory.databasePath)
    }
  }

  /// Whether there is something to open.
  public static func isThere(in directory: String) -> Bool {
    access("\(directory)/\(DataDirectory.databaseName)", F_OK) == 0
  }

  private init(
    directory: DataDirectory, connection: sending SQLiteConnection, hasLogLeft: Bool, accounts: AccountReview,
    options: SQLiteStoreOptions
  ) throws(SQLiteError) {
    self.directory = directory
    signer = AccountSigner(review: accounts)
    try connection.prepareForWriting(options)
    lineage = try connection.lineage()
    committed = CommittedState(
      options: options,
      evaluationsCompleteFrom: try connection.firstTimeWithoutRows(in: "evaluations"),
      tokensCompleteFrom: try connection.firstTimeWithoutRows(in: "tokens"))
    readers = try ReaderPool(path: directory.databasePath)
    bindingLists = try ListReader(path: directory.databasePath)
    eventLists = try ListReader(path: directory.databasePath)
    erasureSearches = try ListReader(path: directory.databasePath)
    writes = WriterQueue(
      writer: try BatchWriter(on: connection, committed: committed, signer: signer, options: options),
      checkpointer: try Checkpointer(
        path: directory.databasePath, virtualFileSystem: options.virtualFileSystem),
      owesEmptyLog: hasLogLeft, options: options)
  }

  public var statistics: StoreStatistics { writes.statistics }

  // MARK: Reading

  public func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    answer(completion) { () throws(StoreError) in
      var records = try self.records(of: subject, vendor)
      if let evaluation { records.evaluation = try self.evaluation(evaluation) }
      return records
    }
  }

  public func attemptRecordsAtHand(
    ofBinding bindingID: String, applicationID: String, vendor: Vendor
  ) throws(StoreError) -> AttemptRecords? {
    guard !isClosed.load(ordering: .acquiring) else { throw .closed }
    return try records(of: .binding(applicationID: applicationID, bindingID: bindingID), vendor)
  }

  public func holderRecords(
    applicationID: String, profileID: String, completion: @escaping Completion<HolderRecords>
  ) {
    read(completion) { reader throws(SQLiteError) in
      try reader.holderRecords(applicationID: applicationID, profileID: profileID)
    }
  }

  public func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>
  ) {
    read(completion) { reader throws(SQLiteError) in
      EnrolmentRecords(
        holder: try reader.holderRecords(applicationID: applicationID, profileID: profileID),
        device: try reader.device(id: deviceID, vendor: vendor) ?? DeviceRecord(deviceID: deviceID, vendor: vendor),
        deviceBinding: try reader.activeBinding(applicationID: applicationID, deviceID: deviceID),
        activeBindingCount: try reader.activeBindingCount(applicationID: applicationID, profileID: profileID),
        isTicketUsed: try reader.isUsed(ticket: ticket))
    }
  }

  public func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>) {
    answer(completion) { () throws(StoreError) in try knownDevice(id, of: vendor).value }
  }

  public func activeBinding(
    applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>
  ) {
    read(completion) { reader throws(SQLiteError) in
      try reader.activeBinding(applicationID: applicationID, deviceID: deviceID)
    }
  }

  public func receipt(ofBinding id: String, completion: @escaping Completion<[UInt8]>) {
    read(completion) { reader throws(SQLiteError) in try reader.receipt(ofBinding: id) }
  }

  public func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    answer(completion) { () throws(StoreError) in
      switch committed.token(key) {
      case .present(let token): token
      case .absent: nil
      case .unknown: try readers.read { reader throws(SQLiteError) in try reader.token(key) }
      }
    }
  }

  public func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>
  ) {
    bindingLists.read(completion) { lists throws(SQLiteError) in
      try lists.records.bindings(
        applicationID: applicationID, profileID: profileID, includingRevoked: includingRevoked, after: after,
        limit: max(0, limit))
    }
  }

  public func profileIDs(
    applicationID: String, from start: String, limit: Int, completion: @escaping Completion<[String]>
  ) {
    read(completion) { reader throws(SQLiteError) in
      try reader.profileIDs(applicationID: applicationID, from: start, limit: limit)
    }
  }

  public func eventPlace(at time: UnixTime, completion: @escaping Completion<UInt64>) {
    eventLists.read(completion) { lists throws(SQLiteError) in try lists.events.place(at: time) }
  }

  public func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    eventLists.read(completion) { lists throws(SQLiteError) in
      try lists.events.page(matching: filter, afterSequence: afterSequence, limit: limit)
    }
  }

  public func eventChainHead(completion: @escaping Completion<EventChain.Head>) {
    eventLists.read(completion) { lists throws(SQLiteError) in try lists.events.head() }
  }

  public func eventChainStart(completion: @escaping Completion<EventChain.Head>) {
    eventLists.read(completion) { lists throws(SQLiteError) in try lists.events.start() }
  }

  public var eventSignal: EventSignal { writes.eventSignal }

  // MARK: Writing

  public func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    let erasures = changeSet.erasures
    guard !erasures.isEmpty else { return writes.submit(.commit(changeSet, [], completion)) }
    // A long log is searched beside the commits, not within a commit.
    erasureSearches.read({ [writes] found in
      switch found {
      case .success(let found): writes.submit(.commit(changeSet, found, completion))
      case .failure(let error): completion(.failure(error))
      }
    }) { lists throws(SQLiteError) in try lists.events.find(erasures) }
  }

  public func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>) {
    writes.submit(.upkeep(Upkeep(completion) { writer throws(SQLiteError) in try writer.sweep(before: time) }))
  }

  public func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>) {
    writes.submit(.upkeep(Upkeep(completion) { writer throws(SQLiteError) in try writer.drop(archived) }))
  }

  /// No other process has the data directory.
  public func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>) {
    completion(isClosed.load(ordering: .acquiring) ? .failure(.closed) : .success(true))
  }

  var databasePath: String { directory.databasePath }

  /// Writes rows that no call reads, beside the commits.
  func upkeep<Value: Sendable>(
    _ completion: @escaping Completion<Value>,
    _ write: @escaping @Sendable (SQLiteConnection) throws(SQLiteError) -> Value
  ) {
    writes.submit(
      .upkeep(Upkeep(completion) { writer throws(SQLiteError) in .success(try write(writer.connection)) }))
  }

  public func probe(completion: @escaping Completion<Void>) {
    writes.submit(.upkeep(Upkeep(isProbe: true, completion) { writer throws(SQLiteError) in try writer.probe() }))
  }

  public func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    writes.submit(
      .upkeep(Upkeep(completion) { writer throws(SQLiteError) in try writer.keyCheck(initially: check) }))
  }

  public func signAccounts(with keys: AccountKeys, completion: @escaping Completion<UInt64?>) {
    do throws(StoreError) {
      try signer.use(keys)
      writes.submit(.upkeep(Upkeep(completion) { writer throws(SQLiteError) in try writer.beginSigning() }))
    } catch {
      completion(.failure(error))
    }
  }

  public func close(completion: @escaping @Sendable () -> Void) {
    isClosed.store(true, ordering: .releasing)
    bindingLists.close { [self] in
      eventLists.close { [self] in
        erasureSearches.close { [self] in
          readers.close()
          // The last connection empties the log into the database. Only then may another process use the directory.
          writes.close { [self] in
            directory.unlock()
            completion()
          }
        }
      }
    }
  }

  // MARK: From memory, or else from the database

  private func records(of subject: AttemptSubject, _ vendor: Vendor) throws(StoreError) -> AttemptRecords {
    let binding = try binding(of: subject)
    let name = subject.profileName(ofBinding: binding?.value.profileID)
    let profile = ProfileKey(applicationID: name.applicationID, profileID: name.profileID)
    return AttemptRecords(
      binding: binding,
      device: try knownDevice(binding?.value.deviceID ?? DeviceRecord.placeholder.deviceID, of: vendor),
      profile: try found(profile) ?? SharedRecord(profile.unknown), evaluation: nil)
  }

  private func binding(of subject: AttemptSubject) throws(StoreError) -> SharedRecord<BindingRecord>? {
    switch subject {
    case .binding(let applicationID, let bindingID):
      guard let binding = try found(ByteString(bindingID)),
        Identifier.areEqual(binding.value.applicationID, applicationID)
      else { return nil }
      return binding
    case .profile: return nil
    case .profileTouchID(let applicationID, let digest):
      return try readers.read { reader throws(SQLiteError) in
        try reader.activeBinding(applicationID: applicationID, profileTouchID: digest).map { SharedRecord($0) }
      }
    }
  }

  /// Version 0 where nothing is known of it.
  private func knownDevice(_ id: String, of vendor: Vendor) throws(StoreError) -> SharedRecord<DeviceRecord> {
    guard id != DeviceRecord.placeholder.deviceID else { return SharedRecord(.placeholder) }
    let key = DeviceKey(vendor: vendor, deviceID: id)
    return try found(key) ?? SharedRecord(key.unknown)
  }

  private func found<Key: RecordKey>(_ key: Key) throws(StoreError) -> SharedRecord<Key.Record>? {
    switch committed.lookUp(key) {
    case .present(let record): record
    case .absent: nil
    case .unknown:
      try committed.filling(key) { () throws(StoreError) in
        try readers.read { reader throws(SQLiteError) in try key.read(by: reader) }
      }
    }
  }

  private func evaluation(_ key: ExpiringKey) throws(StoreError) -> EvaluationRecord? {
    switch committed.evaluation(key) {
    case .present(let evaluation): evaluation
    case .absent: nil
    case .unknown: try readers.read { reader throws(SQLiteError) in try reader.evaluation(key) }
    }
  }

  private func read<Value: Sendable>(
    _ completion: Completion<Value>, _ body: (RecordReader) throws(SQLiteError) -> Value
  ) {
    answer(completion) { () throws(StoreError) in try readers.read(body) }
  }

  private func answer<Value>(_ completion: Completion<Value>, _ read: () throws(StoreError) -> Value) {
    guard !isClosed.load(ordering: .acquiring) else { return completion(.failure(.closed)) }
    do throws(StoreError) {
      completion(.success(try read()))
    } catch {
      completion(.failure(error))
    }
  }
}

extension SQLiteConnection {
  fileprivate func prepareForWriting(_ options: SQLiteStoreOptions) throws(SQLiteError) {
    try execute(
      """
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = \(64 << 20);
      PRAGMA cache_size = -\(options.writerCacheKilobytes);
      PRAGMA temp_store = MEMORY;
      PRAGMA secure_delete = ON;
      """)
    if let maximumPageCount = options.maximumPageCount {
      try execute("PRAGMA max_page_count = \(maximumPageCount)")
    }
    countWALFrames()
  }

  func lineage() throws(SQLiteError) -> Lineage {
    guard let number = UInt32(exactly: try integer("SELECT number FROM lineage")) else {
      throw SQLiteError(code: .corrupt, message: "unreadable column number of lineage")
    }
    return Lineage(rawValue: number)
  }

  /// No row of the table has this expiry or a later one, or had one when it was swept.
  fileprivate func firstTimeWithoutRows(in table: String) throws(SQLiteError) -> UnixTime {
    let afterLastRow = try integer("SELECT coalesce(max(expires_at) + 1, 0) FROM \(table)")
    return UnixTime(microseconds: max(afterLastRow, try integer("SELECT swept_before FROM sweep_mark")))
  }
}
