// What lies where.

import Testing

@Suite("Layout")
struct LayoutTests {
  @Test("The top level holds what a reader expects and nothing else")
  func topLevel() throws {
    let allowed: Set<String> = [
      "Package.swift", "Sources", "Tests", "Protos", "deploy", "docs", "README.md", "Makefile", "CHANGELOG.md",
      "LICENSE",
    ]
    // Made by use, and ignored by git.
    let made: Set<String> = ["Package.resolved", "data"]
    #expect(Set(try PackageTree.entries(of: "")).subtracting(made).subtracting(allowed).isEmpty)
    #expect(Set(try PackageTree.entries(of: "docs")) == ["ARCHITECTURE.md", "PROMISES.md"])
  }

  @Test("Every target with tests has them in a directory of its name")
  func tests() throws {
    let others: Set<String> = [
      "Support", "Acceptance", "Faults", "Interop", "Fuzz", "Benchmarks", "DecisionTables", "SimulationTests",
      "StructureTests",
    ]
    for directory in try PackageTree.entries(of: "Tests") where !others.contains(directory) {
      #expect(directory.hasSuffix("Tests"), "\(directory)")
      #expect(ArrowTable.row(String(directory.dropLast("Tests".count))) != nil, "\(directory)")
    }
  }
}
