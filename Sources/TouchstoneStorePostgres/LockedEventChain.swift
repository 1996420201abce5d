// The audit log's end, held in one transaction by who appends to it.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Commits do not touch the chain: they leave their events unsealed, beside their effects and in the same transaction.
/// Whoever holds the chain's row numbers them, gives each its hash, and moves them behind the others: so the log is one
/// chain without gaps, whose numbers become visible in their order, though no commit ever waits for another's.
struct LockedEventChain {
  /// In one round trip: about 5 ms of hashing and writing.
  static let maximumEventsPerStep = 1_000

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

  /// All that was committed before the chain was locked, in steps.
  mutating func seal() async throws(PostgresError) {
    while try await sealStep() == Self.maximumEventsPerStep {}
  }

  private mutating func sealStep() async throws(PostgresError) -> Int {
    let results = try await session.run([StatementCall(.selectUnsealedEvents).bind(Self.maximumEventsPerStep)])
    let events = try results.first?.map { row throws(PostgresError) in try UnsealedEvent(&row) } ?? []
    guard !events.isEmpty else { return 0 }
    let salts = events.map(\.salt.bytes)
    let records = events.map { chain.append($0.event, salt: $0.salt) }
    try await session.run([
      StatementCall(.sealEvents).bind(array: salts).bind(array: records.map(\.sequence))
        .bind(array: records.map(\.hash)),
      StatementCall(.deleteUnsealedEvents).bind(array: salts),
      StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash),
    ])
    return events.count
  }

  /// Directly behind the others.
  mutating func append(_ events: [EventDraft]) async throws(PostgresError) {
    guard !events.isEmpty else { return }
    var calls: [StatementCall] = []
    for event in events {
      let salt = UniqueID.random()
      let record = chain.append(event, salt: salt)
      calls.append(StatementCall(.insertSealedEvent).bind(record.sequence).bind(record.hash).bind(event, salt: salt))
    }
    calls.append(StatementCall(.setEventChain).bind(chain.head.sequence).bind(chain.head.hash))
    try await session.run(calls)
  }

  /// Nothing is done where the key went since it was asked for.
  mutating func append(account: EventDraft, _ signer: AccountSigner) async throws(PostgresError) {
    guard let event = signer.account(account, after: chain.head) else {
      throw .notSent(StoreError.noAuditKey.message)
    }
    try await append([event])
  }

  /// Ends the transaction.
  consuming func commit() async throws(PostgresError) {
    try await session.run([StatementCall(.commit)])
  }
}
