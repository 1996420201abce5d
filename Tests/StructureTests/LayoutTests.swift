// The places of files and folders.

import Foundation
import Testing

@Suite("Layout")
struct LayoutTests {
  @Test("The top level holds what a reader expects and nothing else")
  func topLevel() throws {
    let allowed: Set<String> = [
      "Package.swift", "Sources", "Tests", "Protos", "clients", "kits", "examples", "deploy", "docs", "README.md",
      "Makefile", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "VERSION",
    ]
    // Made by use, and ignored by git.
    let made: Set<String> = ["Package.resolved", "data"]
    #expect(Set(try PackageTree.entries(of: "")).subtracting(made).subtracting(allowed).isEmpty)
  }

  @Test("Direct dependencies have exact versions, and the indirect ones that are listed are others")
  func dependencies() throws {
    func lines(_ path: String) throws -> [Substring] {
      try PackageTree.text(of: path).split(separator: "\n")
    }
    let direct = try lines("Package.swift").filter { $0.contains(".package(") }
    #expect(!direct.isEmpty)
    for line in direct { #expect(line.contains(#/exact: "\d+\.\d+\.\d+"/#), "\(line)") }
    for line in try lines(".ci/dependencies") where !line.hasPrefix("#") {
      let dependency = try #require(line.wholeMatch(of: #/([a-z0-9-]+) \d+\.\d+\.\d+/#), "\(line)")
      #expect(!direct.contains { $0.contains("/\(dependency.1)\"") }, "\(line)")
    }
  }

  @Test("Every directory of sources is a target, and its tests lie in one of its name")
  func targets() throws {
    let targets = try PackageTree.manifest.get().targets
    let folders = try PackageTree.entries(of: "Sources")
    let directories = try folders.flatMap { folder in
      try PackageTree.entries(of: "Sources/\(folder)").map { "Sources/\(folder)/\($0)" }
    }
    let paths = Set(targets.map(\.path))
    #expect(Set(directories) == paths.filter { $0.hasPrefix("Sources/") })
    // The tests that belong to no target alone.
    let ownTests = ["SimulationTests", "FuzzTests", "StructureTests"]
    for tests in targets where tests.type == "test" && !ownTests.contains(tests.name) {
      #expect(tests.path.hasSuffix("Tests"), "\(tests.name)")
      // A kit has both folders below its own.
      let sources = tests.path.replacing("Tests/", with: "Sources/", maxReplacements: 1).dropLast("Tests".count)
      #expect(paths.contains(String(sources)), "\(tests.name)")
    }
  }

  @Test("No folder is a heap: at most ten under Sources, and at most 20 Swift files directly in any")
  func heaps() throws {
    #expect(try PackageTree.entries(of: "Sources").count <= 10)
    for top in ["Sources", "Tests", "kits"] {
      let paths = try FileManager.default.subpathsOfDirectory(atPath: PackageTree.root.appending(path: top).path())
      let folders = Dictionary(grouping: paths.filter { $0.hasSuffix(".swift") }) {
        $0.split(separator: "/").dropLast().joined(separator: "/")
      }
      for (folder, files) in folders where !folder.contains("/Generated") {
        #expect(files.count <= 20, "\(top)/\(folder)")
      }
    }
  }

  /// When a socket hangs up, Dispatch first tells its source and then takes the descriptor's number out of its own
  /// epoll instance; by then the number may be another socket's, which gets no events from then on
  /// (`_dispatch_event_merge_fd` of libdispatch 6.3, github.com/swiftlang/swift-corelibs-libdispatch/issues/949).
  @Test("Dispatch watches no sockets")
  func dispatchSources() throws {
    let root = PackageTree.root.appending(path: "Sources").path()
    let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
    let watching = try files.filter { file in
      try PackageTree.text(of: "Sources/\(file)").contains(#/make(Read|Write)Source\(/#)
    }
    #expect(watching == [])
  }
}
