// The package as it lies on disk: its entries, its sources, its manifest.

import ChildProcess
import Foundation

enum PackageTree {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Names of a directory's entries that are not hidden.
  static func entries(of path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path()).filter { !$0.hasPrefix(".") }
  }

  /// A target's Swift files, by their paths from the root.
  static func sources(of row: ArrowRow) throws -> [(path: String, text: String)] {
    let directory = root.appending(path: row.directory)
    return try FileManager.default.subpathsOfDirectory(atPath: directory.path())
      .filter { $0.hasSuffix(".swift") }
      .sorted()
      .map { ("\(row.directory)/\($0)", try String(contentsOf: directory.appending(path: $0), encoding: .utf8)) }
  }
}

/// The manifest, as the package manager understands it.
struct Manifest: Decodable {
  let targets: [Target]

  struct Target: Decodable {
    let name: String
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

  static func load() throws -> Manifest {
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
