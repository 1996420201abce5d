// The package as it lies on disk: its entries, its sources, its manifest.

import TestSupport
import Foundation

enum PackageTree {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Names of a directory's entries that are not hidden.
  static func entries(of path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path()).filter { !$0.hasPrefix(".") }
  }

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The modules that a target's Swift files import.
  static func imports(of target: Manifest.Target) throws -> Set<String> {
    let files = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: target.path).path())
    let modules = Set(
      try files.filter { $0.hasSuffix(".swift") }
        .flatMap { ImportScanner.modules(in: try text(of: "\(target.path)/\($0)")) })
    guard target.path.hasPrefix("kits/"), target.type != "test" else { return modules }
    // A kit's other branches are for Apple's platforms.
    let isWithoutFoundation = modules.contains("FoundationEssentials")
    return modules.subtracting(["Security", "CryptoKit", "DeviceCheck", "SwiftUI"])
      .subtracting(isWithoutFoundation ? ["Foundation"] : [])
  }

  /// The arrows that the manifest grants, and the imports beyond them.
  static func graph() throws -> ArrowGraph {
    let targets = try manifest.get().targets
    let paths = Dictionary(uniqueKeysWithValues: targets.map { ($0.name, $0.path) })
    return ArrowGraph(
      arrows: try targets.reduce(into: [:]) { arrows, target in
        let granted = Set(target.dependencies.map(\.name))
        // Each file sees the standard library. Only its SPI needs an import.
        let other = try imports(of: target).subtracting(granted).subtracting(["Swift"])
        arrows[target.path] = Set(granted.map { paths[$0] ?? "Packages/\($0)" } + other.map { "Modules/\($0)" })
      })
  }

  static let manifest = Result { try Manifest.load() }
}

/// The manifest, as the package manager understands it.
struct Manifest: Decodable {
  let targets: [Target]

  struct Target: Decodable {
    let name: String
    let path: String
    let type: String
    let dependencies: [Dependency]
  }

  /// `{"byName": ["CNGHTTP2", null]}`, `{"target": […]}` or `{"product": ["Crypto", "swift-crypto", null, null]}`.
  struct Dependency: Decodable {
    let name: String

    init(from decoder: any Decoder) throws {
      let byKind = try decoder.singleValueContainer().decode([String: [Part]].self)
      name = byKind.values.first?.first?.text ?? ""
    }

    /// A name, or a condition that does not matter here.
    private struct Part: Decodable {
      let text: String?

      init(from decoder: any Decoder) throws {
        text = try? decoder.singleValueContainer().decode(String.self)
      }
    }
  }

  fileprivate static func load() throws -> Manifest {
    // A scratch directory of its own: `swift test` holds the lock of the package's.
    let scratch = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    // Without its remarks: what it says is read as JSON.
    let command = "exec swift package --package-path \"$0\" --scratch-path \"$1\" dump-package 2>/dev/null"
    let process = try ChildProcess(["sh", "-c", command, PackageTree.root.path(), scratch.path()])
    let json = Data(process.readToEnd())
    _ = process.waitUntilExit()
    return try JSONDecoder().decode(Manifest.self, from: json)
  }
}
