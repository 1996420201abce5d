import Foundation
import TestSupport
import StoreConformance
import Synchronization
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// As many stores, as of so many processes, on one database that is new, and gone afterwards.
func withStores<Value>(
  _ count: Int, options: PostgresStoreOptions = .small, _ body: ([PostgresStore]) async throws -> Value
) async throws -> Value {
  try await withMigratedDatabase { uri in try await withStores(count, at: uri, options: options, body) }
}

/// The same, with the address of the database.
func withStores<Value>(
  _ count: Int, options: PostgresStoreOptions = .small, _ body: (String, [PostgresStore]) async throws -> Value
) async throws -> Value {
  try await withMigratedDatabase { uri in
    try await withStores(count, at: uri, options: options) { stores in try await body(uri, stores) }
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

/// The same, and the server logs no error for what the stores do.
func withStoresWithoutServerErrors(
  _ count: Int, besides allowed: [String] = [], _ body: ([PostgresStore]) async throws -> Void
) async throws {
  try await withMigratedDatabase { uri in
    try await withStores(count, at: uri, body)
    try expectNoServerErrors(at: uri, besides: allowed)
  }
}

/// Apart from what a store may cause: the first look into an empty database (42P01), a wait for a row that another
/// transaction holds for long (55P03).
func expectNoServerErrors(
  at uri: String, of server: PostgresServer? = nil, besides allowed: [String] = [],
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let directory = try server?.directory ?? PostgresServer.shared.get().directory
  let name = uri.firstMatch(of: applicationName)?.output.1 ?? ""
  let errors = try String(contentsOfFile: "\(directory)/log", encoding: .utf8).split(separator: "\n").filter { line in
    line.hasPrefix("\(name)/") && line.contains("/ERROR:")
      && !(["42P01", "55P03"] + allowed).contains { line.hasPrefix("\(name)/\($0)/") }
  }
  #expect(errors.isEmpty, "\(errors)", sourceLocation: sourceLocation)
}

/// A schema without any table, in the tests' server: to the store, a database of its own. Gone afterwards.
func withDatabase<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  let server = try PostgresServer.shared.get()
  await turnstile.enter()
  defer { turnstile.leave() }
  let uri = try server.makeSchema()
  defer { try? server.dropSchema(of: uri) }
  return try await body(uri)
}

/// The same with this version's tables, without the rows of a service. A test leaves the tables to the next one: to
/// make and to drop them takes the server as long as most tests take it.
func withMigratedDatabase<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  let server = try PostgresServer.shared.get()
  await turnstile.enter()
  defer { turnstile.leave() }
  let used = migrated.withLock { $0.popLast() }
  let name = "application_name=test_\(UInt64.random(in: 0 ... .max))"
  let uri = try used?.replacing(applicationName, with: name) ?? server.makeSchema()
  do {
    if used == nil { _ = try await PostgresMigration.run(uri: uri, options: .small) }
    let value = try await body(uri)
    try server.execute(emptying, at: uri)
    migrated.withLock { $0.append(uri) }
    return value
  } catch {
    try? server.dropSchema(of: uri)
    throw error
  }
}

private let migrated = Mutex<[String]>([])

/// The name by which the server's log tells tests apart.
nonisolated(unsafe) private let applicationName = /application_name=(\w+)/

private let emptying: String = {
  let tables = Schema.creation.compactMap { $0.firstMatch(of: /CREATE TABLE (\w+)/)?.output.1 }
  let firstRows = Schema.creation.filter { $0.hasPrefix("INSERT") || $0.hasPrefix("UPDATE") }
  return (tables.map { "DELETE FROM \($0)" } + firstRows).joined(separator: ";\n")
}()

/// So many tests use the server at a time: each opens some connections, and all at once would be hundreds.
private let turnstile = Turnstile(places: 6)

private final class Turnstile: Sendable {
  private let state: Mutex<(places: Int, waiting: [CheckedContinuation<Void, Never>])>

  init(places: Int) {
    state = Mutex((places, []))
  }

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.places == 0 else {
          state.places -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.places += 1
      return nil
    }
    next?.resume()
  }
}

private func close(_ store: PostgresStore) async {
  await withCheckedContinuation { continuation in store.close { continuation.resume() } }
}

extension PostgresStoreOptions {
  /// Many stores at a time share the tests' server, on a machine that is busy.
  static var small: PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.readConnections = 1
    options.writeConnections = 2
    options.listConnections = 3
    options.connectTimeout = .seconds(20)
    // A batch of commits is answered as a whole: two hundred in one row's queue, while other tests have the cores.
    options.callTimeout = .seconds(240)
    // A call that waits for a lock goes on waiting until the test has all of them there.
    options.listTimeout = .seconds(240)
    return options
  }
}

/// Holds what the statement locks while the body runs, then lets go.
func withTransaction(_ sql: String, at uri: String, _ body: () async throws -> Void) async throws {
  let lane = ConnectionLane.ofOneConnection(
    targets: try ConnectionTarget.prepared(uri), options: .small, timeout: PostgresStoreOptions.small.callTimeout)
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

/// Waits until a query of one value has this answer. The query runs on a thread of its own: the tasks' threads may have
/// other tests to do for longer than a lock is held.
func untilServer(at uri: String, answers expected: String, to query: String) async throws {
  let server = try PostgresServer.shared.get()
  let end = ContinuousClock.now + PostgresStoreOptions.small.callTimeout
  let answer = await withCheckedContinuation {
    (continuation: CheckedContinuation<Result<[String], any Error>, Never>) in
    Thread.detachNewThread {
      var answer = Result { try server.execute(query, at: uri) }
      while let rows = try? answer.get(), rows != [expected], ContinuousClock.now < end {
        answer = Result { try server.execute(query, at: uri) }
      }
      continuation.resume(returning: answer)
    }
  }
  try #require(try answer.get() == [expected], "to \(query)")
}

/// Until the audit log can be read again, for which a probe may be too early: each call waits for a connection, or is
/// refused for as long as the pool's back-off, which is bounded.
func untilItServes(_ store: any Store) async throws {
  try await eventually(within: .seconds(30)) {
    do throws(StoreError) {
      try await store.probe()
      _ = try await store.eventChainHead()
      return true
    } catch {
      try #require(error.code == .unavailable)
      return false
    }
  }
}
