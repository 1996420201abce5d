// The store for many machines: PostgreSQL.

internal import DispatchPool
internal import Synchronization
public import TouchstonePolicy
public import TouchstoneStore

/// Every answer is durable and the same for every process on the database: the store keeps nothing in memory.
///
/// Reads and commits take one round trip each and are answered on a connection's event loop. A commit is one
/// transaction, which touches the rows of its device, its profile and its binding. Waiting commits go to the server
/// together, and share its fsync.
public final class PostgresStore: Store {
  public let lineage: Lineage
  private let reads: ConnectionLane
  private let writes: ConnectionLane
  private let waits: ConnectionLane
  private let lists: ConnectionLane
  private let seals: ConnectionLane
  private let bindingReader: BindingReader
  private let committer: Committer
  private let sealer: EventSealer
  private let events: EventReader
  private let eraser: ProfileEraser
  private let archiving: EventArchiving
  private let sweeper: Sweeper
  private let signer: AccountSigner
  private let clock: @Sendable () -> UnixTime
  /// The database has another line of history: this store's answers are no longer valid.
  private let isOutdated = Atomic<Bool>(false)
  private let options: PostgresStoreOptions
  public let eventSignal = EventSignal()

  /// How long accepted calls may take to finish when the store closes.
  private static let drainTime: Duration = .seconds(5)

  /// Connects, and checks that the database is Touchstone's, of this version, and complete. Writes nothing.
  ///
  /// - Parameter uri: as libpq reads it, with several hosts, `target_session_attrs` and TLS. Another machine's
  ///   certificate is verified (`sslmode=verify-full`) unless the URI has another setting. It may hold a password: no
  ///   error quotes it.
  public static func open(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> PostgresStore {
    let targets = try ConnectionTarget.prepared(uri)
    let server = try await ServerInspection.run(targets: targets, options: options)
    let (lineage, accounts) = try await DatabaseInspection(targets: targets, options: options).requireOurs()
    return PostgresStore(
      targets: targets, lineage: lineage, accounts: accounts, server: server, options: options)
  }

  private init(
    targets: [ConnectionTarget], lineage: Lineage, accounts: AccountReview, server: ServerInspection,
    options: PostgresStoreOptions
  ) {
    self.lineage = lineage
    signer = AccountSigner(review: accounts)
    self.options = options
    let succession = server.hasTimelines ? Succession() : nil
    let loops = LoopTurns(options)
    func lane(_ configuration: ConnectionLane.Configuration) -> ConnectionLane {
      var configuration = configuration
      configuration.succession = succession
      return ConnectionLane(configuration, targets: targets, options: options, on: loops)
    }
    func shortLane(
      _ connections: Int, depth: Int, kept: Int, prepared: [Statement], setup: [String] = [],
      flushing: (@Sendable () -> StatementCall)? = nil
    ) -> ConnectionLane {
      lane(
        .init(
          connections: connections, depth: depth, maximumWaiting: options.maximumWaiting,
          timeout: options.callTimeout, answerTimeout: options.answerTimeout, minimumConnections: kept,
          prepared: prepared, planning: [SessionSetup.plansByIndex, SessionSetup.plansByKey] + setup,
          flushing: flushing))
    }
    reads = shortLane(
      options.readConnections, depth: options.readDepth, kept: options.readConnections, prepared: Statement.ofReads)
    let flushing: @Sendable () -> StatementCall = { [clock = options.clock] in
      .flushing(expiresAt: clock() + Committer.markLifetime)
    }
    writes = shortLane(
      options.writeConnections, depth: options.commitDepth, kept: options.writeConnections,
      prepared: Statement.ofWrites, setup: [SessionSetup.shortLockWaits], flushing: flushing)
    waits = shortLane(options.waitConnections, depth: 1, kept: 0, prepared: Statement.ofWrites)
    // One round at a time. Its statements take milliseconds, so a peer that vanished is found as soon as on the short
    // lanes: all lists wait for the round.
    seals = lane(
      .init(
        connections: 1, depth: 1, maximumWaiting: options.maximumWaiting, timeout: options.callTimeout,
        answerTimeout: options.answerTimeout, prepared: Statement.all,
        planning: [SessionSetup.plansByIndex, SessionSetup.lockWaits(of: options.answerTimeout / 2)]))
    lists = lane(
      .init(
        connections: options.listConnections, depth: 1, maximumWaiting: options.maximumWaiting,
        timeout: options.listTimeout, answerTimeout: options.listTimeout,
        // If an erasure or an archiver is interrupted while it locks the chain, sealing waits this long, and lists with
        // it. Between two statements a process hashes some thousand events at most, which takes milliseconds.
        idleTimeout: options.callTimeout, signOfLifeTimeout: options.answerTimeout,
        prepared: Statement.all, planning: [SessionSetup.plansByIndex]))
    clock = options.clock
    bindingReader = BindingReader(reads: reads, batches: options.readBatches)
    committer = Committer(
      writes: writes, waits: waits, lineage: lineage, batches: options.commitBatches, clock: clock,
      observer: options.observer)
    sealer = EventSealer(lane: seals, options: options, signal: eventSignal)
    events = EventReader(lists: lists)
    eraser = ProfileEraser(
      lists: lists, lineage: lineage, clock: clock, signer: signer, lockTimeout: options.answerTimeout,
      brokenEventFound: options.brokenEventFound)
    archiving = EventArchiving(lists: lists, clock: clock, signer: signer)
    sweeper = Sweeper(lists: lists, lineage: lineage, clock: clock)
    for lane in [reads, writes, waits, seals, lists] { lane.start() }
    sealer.start(reads: reads)
  }

  /// The connections at this moment.
  package var lanes: [StoreLane] {
    let lanes = [("reads", reads), ("writes", writes), ("waits", waits), ("lists", lists), ("seals", seals)]
    return lanes.map { name, lane in
      let pool = lane.statistics
      var found = StoreLane(name: name)
      (found.connecting, found.serving, found.leaving) = (pool.connecting, pool.serving, pool.goingAway)
      (found.inUse, found.idle, found.waiting) = (pool.leased, max(0, pool.capacity - pool.leased), pool.waiting)
      return found
    }
  }

  /// For how long the log's end has stayed in place while events wait to be sealed.
  package var unsealedFor: Duration { sealer.unsealedFor }

  // MARK: Reading

  public func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    let call: StatementCall
    switch subject {
    case .binding(let applicationID, let bindingID):
      guard !isOutdated.load(ordering: .relaxed) else { return completion(.failure(.otherLineage)) }
      return bindingReader.read(
        .init(applicationID: applicationID, bindingID: bindingID, vendor: vendor, evaluation: evaluation)
      ) { completion($0.mapError { StoreError($0) }) }
    case .profile(let applicationID, let profileID):
      call = RecordQueries.attempt(ofProfile: profileID, in: applicationID, evaluation: evaluation)
    case .profileTouchID(let applicationID, let digest):
      call = RecordQueries.attempt(ofProfileTouchID: digest, in: applicationID, vendor, evaluation: evaluation)
    }
    read([call], completion) { results throws(PostgresError) in
      try results[0].only { row throws(PostgresError) in
        try RecordQueries.attemptRecords(of: subject, vendor, evaluation: evaluation, &row)
      }
    }
  }

  public func holderRecords(
    applicationID: String, profileID: String, completion: @escaping Completion<HolderRecords>
  ) {
    read(RecordQueries.holder(applicationID: applicationID, profileID: profileID), completion) {
      results throws(PostgresError) in
      try RecordQueries.holderRecords(applicationID: applicationID, profileID: profileID, results)
    }
  }

  public func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>
  ) {
    let calls = RecordQueries.enrolment(
      applicationID: applicationID, profileID: profileID, deviceID: deviceID, vendor: vendor, ticket: ticket)
    read(calls, completion) { results throws(PostgresError) in
      try RecordQueries.enrolmentRecords(
        applicationID: applicationID, profileID: profileID, deviceID: deviceID, vendor: vendor, ticket: ticket,
        results)
    }
  }

  public func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>) {
    read([RecordQueries.device(id: id, vendor: vendor)], completion) { results throws(PostgresError) in
      try results[0].map { row in DeviceRecord(&row).known(to: vendor) }.first
        ?? DeviceRecord(deviceID: id, vendor: vendor)
    }
  }

  public func activeBinding(
    applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>
  ) {
    read([StatementCall(.selectActiveBinding).bind(applicationID).bind(deviceID)], completion) {
      results throws(PostgresError) in
      try results[0].map { row throws(PostgresError) in try BindingRecord(&row) }.first
    }
  }

  public func receipt(ofBinding id: String, completion: @escaping Completion<[UInt8]>) {
    read([StatementCall(.selectReceipt).bind(id)], completion) { results throws(PostgresError) in
      try results[0].map { row in row.blob() }.first ?? []
    }
  }

  public func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    read([StatementCall(.selectToken).bind(key)], completion) { results throws(PostgresError) in
      try results[0].only { row throws(PostgresError) in try RecordQueries.token(key, &row) }
    }
  }

  public func profileIDs(
    applicationID: String, from start: String, limit: Int, completion: @escaping Completion<[String]>
  ) {
    read([StatementCall(.selectProfileIDs).bind(applicationID).bind(start).bind(limit)], completion) {
      results throws(PostgresError) in try results[0].map { row in row.text() }
    }
  }

  private func read<Value>(
    _ calls: [StatementCall], _ completion: @escaping Completion<Value>,
    _ decode: @escaping @Sendable ([QueryResult]) throws(PostgresError) -> Value
  ) {
    guard !isOutdated.load(ordering: .relaxed) else { return completion(.failure(.otherLineage)) }
    reads.run(calls, isQuestion: true) { result in
      do throws(PostgresError) {
        completion(.success(try decode(try result.get())))
      } catch {
        completion(.failure(StoreError(error)))
      }
    }
  }

  // MARK: Lists

  public func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>
  ) {
    let select = StatementCall(includingRevoked ? .selectBindings : .selectActiveBindings).bind(applicationID)
      .bind(profileID).bind(after ?? "").bind(max(0, limit))
    list(completion) { [lists] () throws(PostgresError) in
      try await lists.run([select], isQuestion: true)[0].map { row throws(PostgresError) in try BindingRecord(&row) }
    }
  }

  /// Includes everything that was committed before the call.
  public func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    listSealed(completion) { [events] () throws(PostgresError) in
      try await events.page(matching: filter, afterSequence: afterSequence, limit: limit)
    }
  }

  public func eventPlace(at time: UnixTime, completion: @escaping Completion<UInt64>) {
    listSealed(completion) { [events] () throws(PostgresError) in try await events.place(at: time) }
  }

  public func eventChainHead(completion: @escaping Completion<EventChain.Head>) {
    listSealed(completion) { [events] () throws(PostgresError) in try await events.head() }
  }

  public func eventChainStart(completion: @escaping Completion<EventChain.Head>) {
    list(completion) { [events] () throws(PostgresError) in try await events.start() }
  }

  private func listSealed<Value: Sendable>(
    _ completion: @escaping Completion<Value>, _ body: @escaping @Sendable () async throws(PostgresError) -> Value
  ) {
    sealer.seal { [self] error in
      if let error { return completion(.failure(StoreError(error))) }
      list(completion, body)
    }
  }

  private func list<Value: Sendable>(
    _ completion: @escaping Completion<Value>, _ body: @escaping @Sendable () async throws(PostgresError) -> Value
  ) {
    guard !isOutdated.load(ordering: .relaxed) else { return completion(.failure(.otherLineage)) }
    Task {
      do throws(PostgresError) {
        completion(.success(try await body()))
      } catch {
        completion(.failure(noting(StoreError(error))))
      }
    }
  }

  /// Also detects that the database was put back to an earlier time.
  private func noting(_ error: StoreError) -> StoreError {
    if error == .otherLineage { isOutdated.store(true, ordering: .relaxed) }
    return error
  }

  // MARK: Writing

  public func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>) {
    let erasures = changeSet.erasures
    let hasEvents = !changeSet.events.isEmpty
    guard erasures.isEmpty else {
      Task {
        let failure = await eraser.commit(changeSet, erasing: erasures)
        completion(failure.map { .failure(noting($0)) } ?? .success(()))
        sealer.noteCommitted()
      }
      return
    }
    committer.commit(changeSet) { [self] failure in
      completion(failure.map { .failure(noting($0)) } ?? .success(()))
      if failure == nil, hasEvents { sealer.noteCommitted() }
    }
  }

  /// A commit of a group can be read before the group's fsync. A later commit that waits for its own fsync makes it
  /// durable, because there is one log.
  public func confirm(completion: @escaping Completion<Void>) {
    let calls = [StatementCall.flushing(expiresAt: clock() + Committer.markLifetime)]
    writes.run(calls, isQuestion: true) { result in completion(result.map { _ in }.mapError { StoreError($0) }) }
  }

  public func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>) {
    Task {
      do throws(PostgresError) {
        completion(try await archiving.drop(archived))
      } catch {
        completion(.failure(StoreError(error)))
      }
    }
  }

  public func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>) {
    list(completion) { [archiving] () throws(PostgresError) in try await archiving.claim(by: claimant, for: duration) }
  }

  public func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>) {
    list(completion) { [sweeper] () throws(PostgresError) in try await sweeper.step(before: time) }
  }

  public func probe(completion: @escaping Completion<Void>) {
    let mark = ExpiringKey(expiresAt: clock() + Committer.markLifetime, id: .random())
    let calls = [
      StatementCall.finishing(mark: mark, earliestExpiry: UnixTime(microseconds: .max), in: lineage),
      StatementCall(.deleteCommitMark).bind(mark),
    ]
    writes.run(calls, isQuestion: true) { [self] written in
      guard case .success = written else { return completion(probed(written)) }
      // A login reads first, on connections that may still wait to be made again.
      reads.run([StatementCall(.hasUnsealedEvents)], isQuestion: true) { [self] read in completion(probed(read)) }
    }
  }

  private func probed(_ result: Result<[QueryResult], PostgresError>) -> Result<Void, StoreError> {
    result.map { _ in }.mapError { noting(StoreError($0)) }
  }

  /// Returns by how much this machine's clock is ahead of the server's, at least.
  public func clockDifference(completion: @escaping Completion<Duration>) {
    list(completion) { [reads, options] () throws(PostgresError) in
      try await ServerInspection.clockDifference(on: reads, options)
    }
  }

  /// Returns the bytes that the database takes, as the server's file system has them.
  package func databaseSize(completion: @escaping Completion<UInt64>) {
    // No login waits on this lane while the server looks at its files.
    list(completion) { [lists] () throws(PostgresError) in try await ServerInspection.databaseSize(on: lists) }
  }

  /// Lists the machines that are connected to the database under this role.
  package func clients(completion: @escaping Completion<[StoreClient]>) {
    list(completion) { [reads] () throws(PostgresError) in try await ServerInspection.clients(on: reads) }
  }

  public func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    list(completion) { [lists] () throws(PostgresError) in
      // If several first starts run at once, the others wait for one and find its check. It may be sent twice.
      let calls = [StatementCall(.putFirstKeyCheck).bind(check), StatementCall(.selectKeyCheck)]
      return try await lists.run(calls, isQuestion: true)[1].only { row in row.blob() }
    }
  }

  public func signAccounts(with keys: AccountKeys, completion: @escaping Completion<UInt64?>) {
    do throws(StoreError) {
      try signer.use(keys)
    } catch {
      return completion(.failure(error))
    }
    list(completion) { [lists, signer, clock] () throws(PostgresError) in
      try await lists.withSession { session throws(PostgresError) in
        var chain = try await LockedEventChain(in: session)
        try await chain.seal()
        try await chain.update(signer)
        let event = signer.beginning(after: chain.head, at: clock())
        if let event { try await chain.append([event]) }
        let head = chain.head
        try await chain.commit()
        if event != nil { signer.noteSigned() }
        return event == nil ? nil : head.sequence
      }
    }
  }

  public func close(completion: @escaping @Sendable () -> Void) {
    sealer.close()
    let deadline = MonotonicTime.now() + Self.drainTime
    // A commit in doubt queries on the same lane. It finds the store closed, and stays in doubt.
    waits.drain(deadline: deadline) { [writes, reads, seals, lists] in
      writes.drain(deadline: deadline) {
        reads.drain(deadline: deadline) {
          seals.drain(deadline: deadline) {
            lists.drain(deadline: deadline, completion: completion)
          }
        }
      }
    }
  }
}
