// `store:` names one of the kinds of stores, and shows no password.

import Testing

@testable import TouchstoneServer

@Suite("The setting of the store")
struct StoreSettingTests {
  @Test("The data directory's kind has its name, and a server's has a URI")
  func kinds() throws {
    let directory = try StoreSetting(parsing: "sqlite")
    #expect(directory == .sqlite && !directory.hasSecret)
    #expect(directory.location(dataDirectory: "/data").description == "SQLite (/data)")

    let uri = "postgresql://ann:hidden@db.example:5432/touchstone"
    let server = try StoreSetting(parsing: uri)
    #expect(server != .sqlite && server.hasSecret)
    #expect(server.location(dataDirectory: "/data").description == "PostgreSQL (db.example:5432/touchstone)")
    #expect(!String(reflecting: server).contains("hidden"))
    #expect(try StoreSetting(parsing: uri) == server)
    #expect(try StoreSetting(parsing: "postgresql://db.example/other") != server)
  }

  @Test("What no kind knows is refused, and not quoted", arguments: ["", "mysql://ann:hidden@db", "SQLite", "hidden"])
  func unknown(text: String) {
    let error = #expect(throws: StoreSetting.Malformed.self) { _ = try StoreSetting(parsing: text) }
    #expect(error?.message == "must be \(StoreSetting.form)")
  }

  @Test("A URI that its kind cannot read is refused, and not quoted")
  func malformed() {
    let error = #expect(throws: StoreSetting.Malformed.self) {
      _ = try StoreSetting(parsing: "postgresql://ann:hidden@db:port/x")
    }
    #expect(error?.message.hasPrefix("must be \(StoreSetting.form): ") == true)
    #expect(error?.message.contains("hidden") == false)
  }
}
