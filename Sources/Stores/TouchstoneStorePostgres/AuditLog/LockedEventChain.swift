// The audit log's end, locked by the transaction that appends to it.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Commits do not touch the chain: they leave their events unsealed, in the transaction of their effects. The process
/// that holds the chain's row numbers the events, gives each its hash, and appends them. The log is therefore one chain
/// without gaps, whose numbers become visible in order, and no commit waits for another one.
struct LockedEventChain {
  /// The rows of one round trip, with a dozen events each at most: about 5 ms of hashing and writing.
  static let maximumRowsPerStep = 100

  private let session: ConnectionLane.Session
  private var chain: EventChain

  /// Begins a transaction.
  init(in session: ConnectionLane.Session) async throws(PostgresError) {
    self.session = session
    let results = try await session.run([StatementCall(.begin), StatementCall(.lockEventChain)])
    chain = EventChain(continuing: try results[1].only { row in EventChain.Head(&row) })
  }

  var head: EventChain.Head { chain.head }

  /// Seals everything that was committed before the chain was locked, in steps.
  mutating func seal() async throws(PostgresError) {
    while try await sealStep() == Self.maximumRowsPerStep {}
  }

  private mutating func sealStep() async throws(PostgresError) -> Int {
    let results = try await session.run([StatementCall(.selectUnsealedEvents).bind(Self.maximumRowsPerStep)])
    let rows = try results[0].map { row throws(PostgresError) in try UnsealedEvents(&row) }
    guard !rows.isEmpty else { return 0 }
    var sealed = RowArrays.sealedEvents
    for row in rows {
      for (event, salt) in row.events { sealed.append(chain.append(event, salt: salt), event, salt) }
    }
    try await session.run([
      StatementCall(.insertSealedEvents).bind(sealed),
      StatementCall(.deleteUnsealedEvents).bind(array: rows.map(\.id)),
      StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash),
    ])
    return rows.count
  }

  /// Appends directly after the last event.
  mutating func append(_ events: [EventDraft]) async throws(PostgresError) {
    guard !events.isEmpty else { return }
    var sealed = RowArrays.sealedEvents
    for event in events {
      let salt = UniqueID.random()
      sealed.append(chain.append(event, salt: salt), event, salt)
    }
    try await session.run([
      StatementCall(.insertSealedEvents).bind(sealed),
      StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash),
    ])
  }

  /// Does nothing if the key was removed meanwhile.
  mutating func append(account: EventDraft, _ signer: AccountSigner) async throws(PostgresError) {
    try await update(signer)
    guard let event = signer.account(account, after: chain.head) else {
      throw .notSent(StoreError.noAuditKey.message)
    }
    try await append([event])
  }

  /// Another process may have begun to sign accounts.
  func update(_ signer: AccountSigner) async throws(PostgresError) {
    guard signer.isSigningUnknown else { return }
    let (archiving, signing) = try await PostgresAuditLogReader(session: session).accountsByIndex()
    if archiving?.isSignedAccount == true || signing?.isSignedAccount == true { signer.noteSigned() }
  }

  /// Ends the transaction.
  consuming func commit() async throws(PostgresError) {
    try await session.run([StatementCall(.commit)])
  }
}

extension RowArrays {
  fileprivate static let sealedEvents = RowArrays(
    [.bigint, .bytea, .bytea, .bigint] + EventDraft.columns.names.dropFirst(2).map { _ in .bytea })

  fileprivate mutating func append(_ record: EventRecord, _ event: EventDraft, _ salt: UniqueID) {
    append(.row.bind(record.sequence).bind(record.hash).bind(event, salt: salt))
  }
}
