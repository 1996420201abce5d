// The kind of store for PostgreSQL, for commands and a start.

package import TouchstonePolicy
package import TouchstoneStore

package struct PostgresKind: ServerStoreKind {
  package let name = "postgresql"
  package let title = "PostgreSQL"
  package let form = "postgresql://HOST/DATABASE"

  package init() {}

  package func place(ofURI text: String) throws(StoreOpenError) -> StorePlace? {
    guard PostgresAddress.isMeant(by: text) else { return nil }
    let address = try PostgresAddress(uri: text)
    return StorePlace(uri: address.uri, description: address.description, hasSecret: address.hasSecret)
  }

  package func open(_ place: StorePlace, options: StoreOptions) async throws(StoreOpenError) -> OpenStore {
    var own = PostgresStoreOptions()
    own.brokenEventFound = options.brokenEventFound
    own.sealingStopped = options.sealingStopped
    own.timelinesHidden = options.timelinesHidden
    own.observer = options.observer
    let store = try await PostgresStore.open(uri: place.text, options: own)
    return OpenStore(
      store, clockDifference: { store.clockDifference(completion: $0) }, lanes: { store.lanes },
      unsealedFor: { store.unsealedFor }, clients: { store.clients(completion: $0) })
  }

  package func verifyLog(
    _ place: StorePlace, accounts: AccountReview
  ) async throws(StoreOpenError) -> AuditLogVerification {
    try await PostgresAuditLog.verify(uri: place.text, accounts: accounts)
  }

  package func beginRestoration(
    _ place: StorePlace, at now: UnixTime
  ) async throws(StoreOpenError) -> Restoration {
    try await PostgresRestoration.begin(uri: place.text, at: now)
  }

  package func makeTables(_ place: StorePlace, isDryRun: Bool) async throws(StoreOpenError) -> SchemaChange {
    isDryRun ? try await PostgresMigration.plan(uri: place.text) : try await PostgresMigration.run(uri: place.text)
  }

  package func fill(_ place: StorePlace, from source: any MoveSource) async throws(StoreOpenError) -> StoreMove {
    try await PostgresMove.fill(uri: place.text, from: source)
  }
}
