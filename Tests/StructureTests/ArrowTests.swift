// The arrows between targets, held against the table in ArrowTable.swift.

import Testing

@Suite("Arrows")
struct ArrowTests {
  @Test("Every import follows an arrow", arguments: ArrowTable.rows.map(\.target))
  func imports(target: String) throws {
    let row = try #require(ArrowTable.row(target))
    let violations = try PackageTree.sources(of: row)
      .flatMap { ImportScanner.violations(of: row, file: $0.path, source: $0.text) }
    #expect(violations.isEmpty)
  }

  @Test("The manifest has no other target and grants no other arrow")
  func manifest() throws {
    for target in try Manifest.load().targets where target.type != "test" && target.type != "system" {
      let row = try #require(ArrowTable.row(target.name), "\(target.name)")
      let granted = Set(target.dependencies.map(\.name))
      #expect(granted.subtracting(row.importable).isEmpty, "\(target.name)")
    }
  }

  @Test("Every directory of sources has its row, or is a C library with its facade")
  func completeness() throws {
    let known = Set(ArrowTable.rows.filter { $0.directory.hasPrefix("Sources/") }.map(\.target))
      .union(ArrowTable.facades.keys)
    #expect(Set(try PackageTree.entries(of: "Sources")) == known)
  }

  @Test("The rules and the codec never see each other")
  func policyAndCodec() {
    #expect(!ArrowTable.reach(of: "TouchstonePolicy").contains("TouchstoneCodec"))
    #expect(!ArrowTable.reach(of: "TouchstoneCodec").contains("TouchstonePolicy"))
    #expect(
      ArrowTable.rows.filter { $0.siblings.isSuperset(of: ["TouchstonePolicy", "TouchstoneCodec"]) }.map(\.target)
        == ["TouchstoneService", "touchstone"])
  }

  @Test("Transport and pool know nothing of Touchstone")
  func transport() {
    #expect(ArrowTable.reach(of: "DispatchRPC") == ["CNGHTTP2", "COpenSSL", "CZlib", "CEpoll"])
    #expect(ArrowTable.reach(of: "DispatchPool") == [])
    #expect(
      ArrowTable.reach(of: "RPCChannel").isSubset(
        of: ArrowTable.reach(of: "DispatchRPC").union(["DispatchRPC", "DispatchPool"])))
  }

  @Test("Each C library stands behind one facade", arguments: ArrowTable.facades.keys.sorted())
  func facades(library: String) {
    let importers = ArrowTable.rows.filter { $0.siblings.contains(library) }.map(\.target)
    #expect(importers == ArrowTable.facades[library])
  }

  @Test("Neither executable carries Foundation's ICU", arguments: ["touchstone", "touchstone-load"])
  func executables(target: String) throws {
    let linked = ArrowTable.reach(of: target).union([target])
    #expect(linked.filter { ArrowTable.row($0)?.system.contains("Foundation") == true } == [])
  }

  @Test("Hot targets go without Foundation", arguments: ArrowTable.withoutFoundation)
  func foundation(target: String) throws {
    let row = try #require(ArrowTable.row(target))
    let imported = try PackageTree.sources(of: row).flatMap { ImportScanner.imports(in: $0.text) }.map(\.module)
    #expect(!imported.contains { $0.hasPrefix("Foundation") })
  }
}
