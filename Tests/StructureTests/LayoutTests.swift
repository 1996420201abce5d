// What lies where.

import Foundation
import Testing

@Suite("Layout")
struct LayoutTests {
  @Test("The top level holds what a reader expects and nothing else")
  func topLevel() throws {
    let allowed: Set<String> = [
      "Package.swift", "Sources", "Tests", "Protos", "deploy", "docs", "README.md", "Makefile", "CHANGELOG.md",
      "CONTRIBUTING.md", "LICENSE",
    ]
    // Made by use, and ignored by git.
    let made: Set<String> = ["Package.resolved", "data"]
    #expect(Set(try PackageTree.entries(of: "")).subtracting(made).subtracting(allowed).isEmpty)
  }

  @Test("Direct dependencies have exact versions, and the indirect ones that are listed are others")
  func dependencies() throws {
    func lines(_ path: String) throws -> [Substring] {
      try String(contentsOf: PackageTree.root.appending(path: path), encoding: .utf8).split(separator: "\n")
    }
    let direct = try lines("Package.swift").filter { $0.contains(".package(") }
    #expect(!direct.isEmpty)
    for line in direct { #expect(line.contains(#/exact: "\d+\.\d+\.\d+"/#), "\(line)") }
    for line in try lines(".ci/dependencies") where !line.hasPrefix("#") {
      let dependency = try #require(line.wholeMatch(of: #/([a-z0-9-]+) \d+\.\d+\.\d+/#), "\(line)")
      #expect(!direct.contains { $0.contains("/\(dependency.1)\"") }, "\(line)")
    }
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
