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
    guard results.count == 2 else { throw .corrupt("no audit log") }
    chain = EventChain(continuing: try results[1].only { row in EventChain.Head(&row) })
  }

  var head: EventChain.Head { chain.head }

  /// Seals everything that was committed before the chain was locked, in steps.
  mutating func seal() async throws(PostgresError) {
    while try await sealStep() == Self.maximumRowsPerStep {}
  }

  private mutating func sealStep() async throws(PostgresError) -> Int {
    let results = try await session.run([StatementCall(.selectUnsealedEvents).bind(Self.maximumRowsPerStep)])
    let rows = try results.first?.map { row throws(PostgresError) in try UnsealedEvents(&row) } ?? []
    guard !rows.isEmpty else { return 0 }
    var insertion = SealedInsertion()
    for row in rows {
      for (event, salt) in row.events { insertion.append(chain.append(event, salt: salt), event, salt) }
    }
    try await session.run([
      insertion.call, StatementCall(.deleteUnsealedEvents).bind(array: rows.map(\.id)),
      StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash),
    ])
    return rows.count
  }

  /// Appends directly after the last event.
  mutating func append(_ events: [EventDraft]) async throws(PostgresError) {
    guard !events.isEmpty else { return }
    var insertion = SealedInsertion()
    for event in events {
      let salt = UniqueID.random()
      insertion.append(chain.append(event, salt: salt), event, salt)
    }
    try await session.run([
      insertion.call, StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash),
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

/// Events with their places in the chain, as an array for each column.
private struct SealedInsertion {
  private var sequences = ArrayElements(of: .bigint)
  private var hashes = ArrayElements(of: .bytea)
  private var salts = ArrayElements(of: .bytea)
  private var times = ArrayElements(of: .bigint)
  private var texts = [ArrayElements](repeating: ArrayElements(of: .bytea), count: 6)
  private var details = ArrayElements(of: .bytea)

  mutating func append(_ record: EventRecord, _ event: EventDraft, _ salt: UniqueID) {
    sequences.append(bigEndian: record.sequence)
    hashes.append(record.hash)
    salts.append(salt.bytes)
    times.append(bigEndian: event.time.microseconds)
    texts[0].append(event.kind.utf8)
    texts[1].append(event.applicationID.utf8)
    texts[2].append(event.profileID.utf8)
    texts[3].append(event.deviceID.utf8)
    texts[4].append(event.bindingID.utf8)
    texts[5].append(event.caller.utf8)
    details.append(event.details.encoded)
  }

  var call: StatementCall {
    let beginning = StatementCall(.insertSealedEvents).bind(sequences).bind(hashes).bind(salts).bind(times)
    return texts.reduce(beginning) { call, column in call.bind(column) }.bind(details)
  }
}
