// The store for many machines: PostgreSQL, or a distributed engine that speaks like it.

internal import DispatchPool
internal import Synchronization
public import TouchstonePolicy
public import TouchstoneStore

/// Durable on every answer, and the same for every process that has the database: nothing is kept in memory.
///
/// Reads and commits take one round trip each and are answered on a queue of the store's. A commit is a transaction of
/// its own, which touches the rows of its device, its profile and its binding; those that wait go to the server together,
/// and share its fsync.
public final class PostgresStore: Store {
  public let lineage: Lineage
  private let reads: ConnectionLane
  private let writes: ConnectionLane
  private let lists: ConnectionLane
  private let committer: Committer
  private let sealer: EventSealer
  private let events: EventReader
  private let eraser: ProfileEraser
  private let archiving: EventArchiving
  private let standIns: StandInBound
  private let sweeper: Sweeper
  private let signer: AccountSigner
  private let clock: @Sendable () -> UnixTime
  /// The database is in another line of history: nothing that this store says of it counts any more.
  private let isOutdated = Atomic<Bool>(false)
  private let options: PostgresStoreOptions
  public let eventSignal = EventSignal()

  /// How long what was accepted may take to finish, at the end.
  private static let drainTime: Duration = .seconds(5)

  /// Connects, and finds out that the database is ours, of this version, and whole. Nothing is written.
  ///
  /// - Parameter uri: as libpq reads it, with several hosts, `target_session_attrs` and TLS. Another machine's certificate
  ///   is verified (`sslmode=verify-full`) unless the URI says otherwise. It may hold a password: no error quotes it.
  public static func open(
    uri: String, options: PostgresStoreOptions = PostgresStoreOptions()
  ) async throws(StoreOpenError) -> PostgresStore {
    let targets = try ConnectionTarget.prepared(uri)
    let server = try await ServerInspection.run(targets: targets, options: options)
    let (lineage, accounts) = try await DatabaseInspection(targets: targets, options: options).requireOurs()
    return PostgresStore(
      targets: targets, lineage: lineage, accounts: accounts, hasOneLog: server.hasOneLog, options: options)
  }

  private init(
    targets: [ConnectionTarget], lineage: Lineage, accounts: AccountReview, hasOneLog: Bool,
    options: PostgresStoreOptions
  ) {
    self.lineage = lineage
    signer = AccountSigner(review: accounts)
    self.options = options
    func lane(_ configuration: ConnectionLane.Configuration) -> ConnectionLane {
      ConnectionLane(configuration, targets: targets, backoff: options.backoff)
    }
    func shortLane(
      _ connections: Int, depth: Int, prepared: [Statement], flushing: (@Sendable () -> StatementCall)? = nil
    ) -> ConnectionLane {
      lane(
        .init(
          connections: connections, depth: depth, maximumWaiting: options.maximumWaiting,
          timeout: options.callTimeout, answerTimeout: options.answerTimeout, prepared: prepared, flushing: flushing))
    }
    reads = shortLane(options.readConnections, depth: options.readDepth, prepared: Statement.ofReads)
    let flushing: @Sendable () -> StatementCall = { [clock = options.clock] in
      .flushing(expiresAt: clock() + Committer.markLifetime)
    }
    // Where each machine has a log of its own, each commit waits for its own.
    writes = shortLane(
      options.writeConnections, depth: options.commitDepth, prepared: Statement.ofWrites,
      flushing: hasOneLog ? flushing : nil)
    lists = lane(
      .init(
        connections: options.listConnections, depth: 1, maximumWaiting: options.maximumWaiting,
        timeout: options.listTimeout, answerTimeout: options.listTimeout,
        // Where sealing is cut off while it holds the chain, everybody's lists and sealing wait for so long. Between two
        // statements a process hashes a thousand events at most: milliseconds.
        idleTimeout: options.callTimeout, signOfLifeTimeout: options.answerTimeout,
        prepared: Statement.all))
    clock = options.clock
    committer = Committer(writes: writes, lineage: lineage, clock: clock)
    sealer = EventSealer(lists: lists, options: options, signal: eventSignal)
    events = EventReader(lists: lists)
    eraser = ProfileEraser(lists: lists, lineage: lineage, clock: clock, signer: signer)
    archiving = EventArchiving(lists: lists, clock: clock, signer: signer)
    standIns = StandInBound(maximum: options.maximumStandIns)
    sweeper = Sweeper(lists: lists, lineage: lineage, clock: clock, standIns: standIns)
    for lane in [reads, writes, lists] { lane.start() }
    sealer.start(reads: reads)
  }

  // MARK: Reading

  public func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    read([RecordQueries.attempt(subject, vendor, evaluation: evaluation)], completion) {
      results throws(PostgresError) in
      try results[0].only { row throws(PostgresError) in
        try RecordQueries.attemptRecords(of: subject, vendor, evaluation: evaluation, &row)
      }
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

  public func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    read([StatementCall(.selectToken).bind(key)], completion) { results throws(PostgresError) in
      try results[0].only { row throws(PostgresError) in try RecordQueries.token(key, &row) }
    }
  }

  private func read<Value>(
    _ calls: [StatementCall], _ completion: @escaping Completion<Value>,
    _ decode: @escaping @Sendable ([QueryResult]) throws(PostgresError) -> Value
  ) {
    guard !isOutdated.load(ordering: .relaxed) else { return completion(.failure(.otherLineage)) }
    reads.run(calls, isQuestion: true) { result in
      do throws(PostgresError) {
        let results = try result.get()
        guard results.count == calls.count else { throw .corrupt("an answer is missing") }
        completion(.success(try decode(results)))
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
    let select = StatementCall(.selectBindings).bind(applicationID).bind(profileID).bind(after ?? "")
      .bind(includingRevoked).bind(max(0, limit))
    list(completion) { [lists] () throws(PostgresError) in
      try await lists.run([select], isQuestion: true).first?.map { row throws(PostgresError) in try BindingRecord(&row)
      } ?? []
    }
  }

  /// What was committed before the call is in the log.
  public func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    listSealed(completion) { [events] () throws(PostgresError) in
      try await events.page(matching: filter, afterSequence: afterSequence, limit: limit)
    }
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

  /// Learns from it whether the database was put back.
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
    standIns.note(changeSet)
    committer.commit(changeSet) { [self] failure in
      completion(failure.map { .failure(noting($0)) } ?? .success(()))
      if failure == nil, hasEvents { sealer.noteCommitted() }
    }
  }

  /// A commit of a group can be read before the group's fsync. One that comes later and waits for its own makes it
  /// durable: there is one log.
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
    writes.run(calls, isQuestion: true) { [self] result in
      completion(result.map { _ in }.mapError { noting(StoreError($0)) })
    }
  }

  /// By how much this machine's clock is ahead of the server's, at least.
  public func clockDifference(completion: @escaping Completion<Duration>) {
    list(completion) { [reads, options] () throws(PostgresError) in
      try await ServerInspection.clockDifference(on: reads, options)
    }
  }

  public func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    list(completion) { [lists] () throws(PostgresError) in
      let select = StatementCall(.selectKeyCheck)
      let known = try await lists.run([select], isQuestion: true)[0].map { row in row.blob() }
      if let known = known.first { return known }
      // Of several first starts one is the first: who waited for it finds its check.
      _ = try await lists.run([StatementCall(.putFirstKeyCheck).bind(check)])
      return try await lists.run([select], isQuestion: true)[0].only { row in row.blob() }
    }
  }

  public func signAccounts(with keys: AccountKeys, completion: @escaping Completion<Void>) {
    do throws(StoreError) {
      try signer.use(keys)
    } catch {
      return completion(.failure(error))
    }
    list(completion) { [lists, signer, clock] () throws(PostgresError) in
      try await lists.withSession { session throws(PostgresError) in
        var chain = try await LockedEventChain(in: session)
        try await chain.seal()
        if let event = signer.beginning(after: chain.head, at: clock()) { try await chain.append([event]) }
        try await chain.commit()
      }
    }
  }

  public func close(completion: @escaping @Sendable () -> Void) {
    sealer.close()
    let deadline = MonotonicInstant.now() + Self.drainTime
    // A commit in doubt asks on the same lane: it is told that the store is closed, and answers in doubt.
    writes.drain(deadline: deadline) { [reads, lists] in
      reads.drain(deadline: deadline) {
        lists.drain(deadline: deadline, completion: completion)
      }
    }
  }
}
