// `store:` is read by the registry's kinds, and shows no password.

import Testing
import TouchstoneStore

@testable import TouchstoneServer

@Suite("The setting of the store")
struct StoreSettingTests {
  @Test("The data directory's kind has its name, and a server's has a URI")
  func kinds() throws {
    let directory = try StoreSetting(parsing: "sqlite")
    #expect(directory == .standard && directory.isInDataDirectory && !directory.hasSecret)
    #expect(directory.location(dataDirectory: "/data").place.text == "/data")

    let uri = "postgresql://ann:hidden@db.example:5432/touchstone"
    let server = try StoreSetting(parsing: uri)
    #expect(server != directory && !server.isInDataDirectory && server.hasSecret)
    let location = server.location(dataDirectory: "/data")
    #expect(location.kind.name == "postgresql" && location.place.text == uri)
    #expect("\(location.place)" == "db.example:5432/touchstone")
    #expect(!String(reflecting: server).contains("hidden"))
    #expect(try StoreSetting(parsing: uri) == server)
    #expect(try StoreSetting(parsing: "postgresql://db.example/other") != server)
  }

  @Test("What no kind knows is refused, and not quoted", arguments: ["", "mysql://ann:hidden@db", "SQLite", "hidden"])
  func unknown(text: String) {
    let error = #expect(throws: StoreSetting.Malformed.self) { _ = try StoreSetting(parsing: text) }
    #expect(error?.message == "must be \(StoreRegistry.settingForm)")
  }

  @Test("A URI that its kind cannot read is refused, and not quoted")
  func malformed() {
    let error = #expect(throws: StoreSetting.Malformed.self) {
      _ = try StoreSetting(parsing: "postgresql://ann:hidden@db:port/x")
    }
    #expect(error?.message.hasPrefix("must be \(StoreRegistry.settingForm): ") == true)
    #expect(error?.message.contains("hidden") == false)
  }

  @Test("A kind is found by its name, and no two kinds share one")
  func names() {
    let names = [StoreRegistry.directoryKind.name] + StoreRegistry.serverKinds.map(\.name)
    #expect(Set(names).count == names.count)
    for kind in StoreRegistry.serverKinds { #expect(StoreRegistry.serverKind(named: kind.name)?.title == kind.title) }
    #expect(StoreRegistry.serverKind(named: StoreRegistry.directoryKind.name) == nil)
  }
}
