import PostgresServer
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// As many stores, as of so many processes, on one database that is new, and gone afterwards.
func withStores<Value>(
  _ count: Int, options: PostgresStoreOptions = .small, _ body: ([PostgresStore]) async throws -> Value
) async throws -> Value {
  try await withDatabase { uri in
    _ = try await PostgresMigration.run(uri: uri, options: options)
    return try await withStores(count, at: uri, options: options, body)
  }
}

func withStores<Value>(
  _ count: Int, at uri: String, options: PostgresStoreOptions = .small, _ body: ([PostgresStore]) async throws -> Value
) async throws -> Value {
  var stores: [PostgresStore] = []
  do {
    for _ in 0..<count { stores.append(try await PostgresStore.open(uri: uri, options: options)) }
    let value = try await body(stores)
    for store in stores { await close(store) }
    return value
  } catch {
    for store in stores { await close(store) }
    throw error
  }
}

/// A schema without any table, in the tests' server: to the store, a database of its own. Gone afterwards.
func withDatabase<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  let server = try PostgresServer.shared.get()
  let uri = try server.makeSchema()
  defer { try? server.dropSchema(of: uri) }
  return try await body(uri)
}

private func close(_ store: PostgresStore) async {
  await withCheckedContinuation { continuation in store.close { continuation.resume() } }
}

extension PostgresStoreOptions {
  /// Many stores at a time share the tests' server, on a machine that is busy.
  static var small: PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.readConnections = 2
    options.writeConnections = 3
    options.listConnections = 3
    options.connectTimeout = .seconds(20)
    options.callTimeout = .seconds(40)
    return options
  }
}

/// Holds what the statement locks while the body runs, then lets go.
func withTransaction(_ sql: String, at uri: String, _ body: () async throws -> Void) async throws {
  let lane = ConnectionLane.ofOneConnection(
    targets: try ConnectionTarget.prepared(uri), options: .small, timeout: .seconds(60))
  var result: Result<Void, any Error> = .success(())
  try await lane.withSession { session throws(PostgresError) in
    try await session.run([StatementCall(.begin), StatementCall(Statement(nil, sql))])
    do {
      try await body()
    } catch {
      result = .failure(error)
    }
    try await session.run([StatementCall(.rollBack)])
  }
  try result.get()
}
