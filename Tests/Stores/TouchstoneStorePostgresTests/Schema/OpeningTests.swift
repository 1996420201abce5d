import TestSupport
import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// The store opens the database that it is given, or refuses it. A refusal changes nothing there.
struct OpeningTests {
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: StoreOpenError.Code
    /// A part of the message.
    let advice: String
    let sql: String
    /// Done to a database that has its tables and has three events; otherwise to an empty one.
    var isToOurs = true
  }

  static let damages = [
    Damage(
      testDescription: "an empty database", code: .otherSchema, advice: "run `touchstone migrate`", sql: "SELECT 1",
      isToOurs: false),
    Damage(
      testDescription: "another application's tables", code: .corrupt, advice: "a database of its own",
      sql: "CREATE TABLE users (id BIGINT)", isToOurs: false),
    Damage(
      testDescription: "another application's marker", code: .corrupt, advice: "a database of its own",
      sql: "CREATE TABLE touchstone_schema (name TEXT)", isToOurs: false),
    Damage(
      testDescription: "a marker with another name in it", code: .corrupt, advice: "a database of its own",
      sql: "UPDATE touchstone_schema SET application = 'cornerstone'"),
    Damage(
      testDescription: "a later version's schema", code: .otherSchema, advice: "the version of Touchstone that made it",
      sql: "UPDATE touchstone_schema SET version = version + 1"),
    Damage(
      testDescription: "an earlier version's schema, without an addition", code: .otherSchema,
      advice: "run `touchstone migrate`", sql: "ALTER TABLE touchstone_schema DROP COLUMN additions"),
    Damage(
      testDescription: "an earlier version's tables", code: .otherSchema,
      advice: "the version of Touchstone that made it", sql: "UPDATE touchstone_schema SET version = version - 1"),
    Damage(
      testDescription: "a missing table", code: .corrupt, advice: "restore it from a backup", sql: "DROP TABLE tokens"),
    Damage(
      testDescription: "a missing column", code: .corrupt, advice: "restore it from a backup",
      sql: "ALTER TABLE devices DROP COLUMN failures"),
    Damage(
      testDescription: "a last event that was altered", code: .corrupt,
      advice: "the audit log is not as it was written",
      sql: "UPDATE events SET caller = '\\x00' WHERE sequence = 3"),
    Damage(
      testDescription: "a first event that was altered", code: .corrupt, advice: "event 1 was altered",
      sql: "UPDATE events SET caller = '\\x00' WHERE sequence = 1"),
    Damage(
      testDescription: "an event in the middle that is gone", code: .corrupt, advice: "event 2 is missing",
      sql: "DELETE FROM events WHERE sequence = 2"),
    Damage(
      testDescription: "a last event that is gone", code: .corrupt, advice: "the audit log is not as it was written",
      sql: "DELETE FROM events WHERE sequence = 3"),
    Damage(
      testDescription: "an event beyond the end", code: .corrupt, advice: "the audit log is not as it was written",
      sql: "INSERT INTO events (sequence, hash, digest) VALUES (9, '\\x00', '\\x00')"),
    Damage(
      testDescription: "a log without its head", code: .corrupt, advice: "audit log", sql: "DELETE FROM event_chain"),
  ]

  @Test(arguments: damages)
  func whatIsNotOursAndWholeIsRefused(_ damage: Damage) async throws {
    try await withDatabase { uri in
      if damage.isToOurs { try await Self.makeThreeEvents(at: uri) }
      let server = try PostgresServer.shared.get()
      try server.execute(damage.sql, at: uri)
      let before = try Self.contents(of: uri)
      let error = await Self.openingError(uri)
      #expect(error?.code == damage.code)
      #expect(error?.message.contains(damage.advice) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("\n") == false)
      #expect(try Self.contents(of: uri) == before)
    }
  }

  @Test(arguments: [
    ("postgresql://u:secret@/x?host=/nowhere", StoreOpenError.Code.unreachable),
    ("postgresql://u:secret@127.0.0.1:1/x", .unreachable), ("postgresql://secret@[x", .unwritable),
  ])
  func whereNobodyAnswersOneLineSaysSoAndNoPassword(_ uri: String, _ code: StoreOpenError.Code) async throws {
    let error = await Self.openingError(uri)
    #expect(error?.code == code)
    #expect(error?.message.contains("\n") == false)
    #expect(error?.message.contains("secret@") == false)
    #expect(error?.message.contains(":secret") == false)
  }

  @Test func hostsAreTriedBesideOneAnother() async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      let server = try PostgresServer.shared.get()
      let several = uri.replacing("host=\(server.directory)", with: "host=/nowhere,\(server.directory)")
      try await withStores(1, at: several) { stores in
        try await stores[0].commit(events: [.sample()])
        #expect(try await stores[0].events().count == 1)
      }
    }
  }

  // MARK: Addresses

  @Test(arguments: [
    ("postgresql://u:secret@db1:5433,db2/shop", "db1:5433,db2/shop", true),
    ("postgres://u@db/shop?sslmode=disable", "db/shop", false),
    ("postgresql://db/shop?password=secret", "db/shop", true),
    ("postgresql://db/shop?sslkey=a.key&sslpassword=secret", "db/shop", true),
    ("postgresql://db/shop?passfile=/run/secrets/pgpass", "db/shop", false),
    ("postgresql:///shop?host=/run/postgresql", "/run/postgresql/shop", false),
  ])
  func anAddressIsDescribedWithoutItsSecrets(_ uri: String, _ description: String, _ hasSecret: Bool) throws {
    #expect(PostgresAddress.isMeant(by: uri))
    let address = try PostgresAddress(uri: uri)
    #expect(address.description == description)
    #expect(address.hasSecret == hasSecret)
    var dumped = "\(address) \(String(reflecting: address))"
    dump(address, to: &dumped)
    #expect(!dumped.contains("secret"))
  }

  /// libpq ends the password at its first "/" or "@".
  @Test(arguments: [
    "postgresql://u:open/sesame@host/db", "postgresql://u:12/sesame@host/db", "postgresql://u:/sesame@host/db",
    "postgresql://u:open@sesame@host/db", "postgresql://u:open?x@sesame@host/db", "postgresql://u:o,pen/sesame@host/db",
    "postgresql://u:12,3/sesame@host/db", "postgresql://u:open/se?same@host/db", "postgresql://u:12/se@s@ame@host/db",
    "postgresql://u:open@sesame@/db", "postgres://u:o@p/en@sesame@host:1/db", "postgresql://host:sesame/db",
    "postgresql://host:65536/db", "postgresql://open/sesame@host",
  ])
  func aPasswordThatIsNotEncodedIsRefusedAndNotQuoted(_ uri: String) async throws {
    let error = #expect(throws: StoreOpenError.self) { try PostgresAddress(uri: uri) }
    #expect(error?.code == .unwritable)
    #expect(await Self.openingError(uri)?.code == .unwritable)
    for part in ["open", "sesame", "same", "12"] { #expect(error?.message.contains(part) == false) }
  }

  @Test(arguments: [
    ("postgresql://u:open%2Fsesame%40@host/db", "host/db"), ("postgresql://u:o:p?n%25@host/db", "host/db"),
    ("postgresql://u%40corp:x@[::1]:5433/db", "::1:5433/db"), ("postgresql://u:x@a:1,b:2/db%40home", "a:1,b:2/db@home"),
    ("postgresql:///db?host=@socket&password=sesame@x", "@socket/db"),
  ])
  func aPasswordThatIsEncodedIsNotShown(_ uri: String, _ description: String) throws {
    let address = try PostgresAddress(uri: uri)
    #expect(address.hasSecret)
    #expect(address.description == description)
  }

  // MARK: Migrations

  @Test func aMigrationSaysBeforehandWhatItWouldDoAndIsDoneOnce() async throws {
    try await withDatabase { uri in
      let plan = try await PostgresMigration.plan(uri: uri, options: .small)
      #expect(!plan.statements.isEmpty)
      #expect(try Self.contents(of: uri) == [])
      #expect(try await PostgresMigration.run(uri: uri, options: .small).statements == plan.statements)
      let again = try await PostgresMigration.run(uri: uri, options: .small)
      #expect(again.version == plan.version && again.statements.isEmpty)
      #expect(again.latest?.hasSuffix(" by unknown") == true)
    }
  }

  @Test func ofMigrationsAtOnceOneDoesTheWork() async throws {
    try await withDatabase { uri in
      let done = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<4 {
          group.addTask { try await PostgresMigration.run(uri: uri, options: .small).statements.isEmpty ? 0 : 1 }
        }
        return try await group.reduce(0, +)
      }
      #expect(done == 1)
      try await withStores(1, at: uri) { stores in try await stores[0].probe() }
    }
  }

  /// They are made between the two statements of a reader. Its look for the marker finds none, and waits before it
  /// returns that: in a second schema of the reader's, a view stands for the missing table.
  @Test func aDatabaseWhoseTablesAreJustBeingMadeIsNotTakenForAnotherApplications() async throws {
    try await withDatabase { uri in
      let server = try PostgresServer.shared.get()
      let (lock, schema) = (Int32.random(in: 1 ... .max), "later_\(UInt64.random(in: 0 ... .max))")
      try server.execute(
        """
        CREATE SCHEMA \(schema);
        CREATE FUNCTION \(schema).missing() RETURNS TABLE (only_row INT, application TEXT, version BIGINT)
          LANGUAGE plpgsql AS $$
          BEGIN
            PERFORM pg_advisory_lock_shared(\(lock));
            RAISE undefined_table;
          END $$;
        CREATE VIEW \(schema).touchstone_schema AS SELECT * FROM \(schema).missing()
        """, at: uri)
      defer { _ = try? server.execute("SET client_min_messages = error; DROP SCHEMA \(schema) CASCADE", at: uri) }
      let lane = ConnectionLane.ofOneConnection(
        targets: try ConnectionTarget.prepared("\(uri)%2C\(schema)"), options: .small, timeout: .seconds(60))
      var state: Task<DatabaseInspection.State, any Error>?
      try await withTransaction("SELECT pg_advisory_xact_lock(\(lock))", at: uri) {
        state = Task {
          try await lane.withSession { session throws(PostgresError) in
            try await DatabaseInspection.state(in: session)
          }
        }
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = \(lock) AND NOT granted"
        try await untilServer(at: uri, answers: "1", to: waiting)
        _ = try await PostgresMigration.run(uri: uri, options: .small)
      }
      #expect(try await state?.value == .empty)
    }
  }

  @Test func aForeignDatabaseIsNotMigrated() async throws {
    try await withDatabase { uri in
      try PostgresServer.shared.get().execute("CREATE TABLE users (id BIGINT)", at: uri)
      let before = try Self.contents(of: uri)
      await #expect(throws: StoreOpenError.self) { try await PostgresMigration.run(uri: uri, options: .small) }
      #expect(try Self.contents(of: uri) == before)
    }
  }

  /// One that the role may make tables in, and whose tables it may not use: they are not its, but they are there.
  @Test func tablesOfAnotherRoleAreNotTakenForNone() async throws {
    try await withDatabase { uri in
      let server = try PostgresServer.shared.get()
      let role = "guest_\(UInt32.random(in: .min ... .max))"
      try server.execute(
        "CREATE TABLE orders (id BIGINT); CREATE ROLE \(role) LOGIN; "
          + "DO $$ BEGIN EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO \(role)', current_schema()); END $$",
        at: uri)
      let before = try Self.contents(of: uri)
      let error = await #expect(throws: StoreOpenError.self) {
        try await PostgresMigration.run(uri: uri + "&user=\(role)", options: .small)
      }
      #expect(error?.message.contains("another application's tables") == true)
      #expect(try Self.contents(of: uri) == before)
      try server.execute("DROP OWNED BY \(role); DROP ROLE \(role)", at: uri)
    }
  }

  private static func makeThreeEvents(at uri: String) async throws {
    _ = try await PostgresMigration.run(uri: uri, options: .small)
    try await withStores(1, at: uri) { stores in
      try await stores[0].commit(events: [.sample("a"), .sample("b"), .sample("c")])
      #expect(try await stores[0].events().count == 3)
    }
  }

  static func openingError(_ uri: String) async -> StoreOpenError? {
    do throws(StoreOpenError) {
      let store = try await PostgresStore.open(uri: uri, options: .small)
      await store.close()
      return nil
    } catch {
      return error
    }
  }

  /// Tables, and how many rows were ever written to each.
  private static func contents(of uri: String) throws -> [String] {
    try PostgresServer.shared.get().execute(
      """
      SELECT table_name, query_to_xml(format('SELECT * FROM %I.%I', table_schema, table_name), true, false, '')
      FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1
      """, at: uri)
  }
}
