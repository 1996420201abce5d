// What lies where.

import Foundation
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
  }

  @Test("Every page of the docs can be found from the architecture's")
  func documents() throws {
    let first = "ARCHITECTURE.md"
    let text = try String(contentsOf: PackageTree.root.appending(path: "docs/\(first)"), encoding: .utf8)
    for page in try PackageTree.entries(of: "docs") where page != first {
      #expect(text.contains("[\(page)](\(page))"), "\(page)")
    }
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
