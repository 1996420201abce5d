import Foundation
import StoreConformance
import TestSupport
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// A conflict is no error of PostgreSQL's server, which would write a line for each one into its own log, and for a
/// unique violation the key, which no erasure of a profile reaches there.
struct ServerLogTests {
  @Test func conflictsOfFirstRecordsWriteNoIdsIntoIt() async throws {
    // PostgreSQL's default.
    let server = try PostgresServer(settings: ["log_min_messages=warning"])
    let uri = try server.makeSchema()
    _ = try await PostgresMigration.run(uri: uri, options: .small)
    let changes: [Change] = [
      .putBinding(.sample("binding-4711", profile: "person-4711", device: "phone-4711")),
      // Another binding of one phone in one application.
      .putBinding(.sample("binding-4712", profile: "person-4711", device: "phone-4711")),
      .putDevice(.sample("phone-4711", failures: 1)), .putProfile(.sample("person-4711")),
    ]
    try await withStores(2, at: uri) { stores in
      for (number, change) in changes.enumerated() {
        let code = await StoreConformance.errorCode { try await stores[0].commit(change) }
        #expect(code == (number == 1 ? .conflict : nil))
        #expect(await StoreConformance.errorCode { try await stores[1].commit(change) } == .conflict)
      }
    }
    let log = try String(contentsOfFile: "\(server.directory)/log", encoding: .utf8)
    #expect(log.contains("ready to accept connections"))
    try expectNoServerErrors(at: uri, of: server)
    for id in ["person-4711", "phone-4711", "binding-4711"] {
      let hexadecimal = id.utf8.map { String(format: "%02x", $0) }.joined()
      #expect(!log.contains(id) && !log.contains(hexadecimal), "\(id)")
    }
  }
}
