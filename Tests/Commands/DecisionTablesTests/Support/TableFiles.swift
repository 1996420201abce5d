// The tables of Tests/DecisionTables and of docs/POLICIES.md, and the sources that they name.

import DecisionTables
import Foundation
import Testing
import TouchstonePolicy

/// One file of the tables of the rules.
struct TableFile: Sendable, CustomTestStringConvertible {
  let name: String
  let text: String

  var testDescription: String { name }

  func read() throws(TableErrors) -> DecisionTableFile {
    try DecisionTableFile(text, policies: EvaluationPolicy.builtIn)
  }

  /// The tables that decide; `elsewhere` is a list of tests.
  static let all: [TableFile] = read().filter { $0.name != elsewhereName }
  static let elsewhere: TableFile? = read().first { $0.name == elsewhereName }

  private static let elsewhereName = "Elsewhere.md"

  private static func read() -> [TableFile] {
    let directory = "Tests/DecisionTables"
    let names =
      (try? FileManager.default.contentsOfDirectory(atPath: Sources.root.appending(path: directory).path())) ?? []
    let paths = names.filter { $0.hasSuffix(".md") }.sorted().map { "\(directory)/\($0)" } + ["docs/POLICIES.md"]
    return paths.compactMap { path in
      guard let text = try? Sources.text(of: path) else { return nil }
      return TableFile(name: String(path.split(separator: "/").last ?? ""), text: text)
    }
  }
}

/// One row and what came of it, under the name of its file.
struct PlayedRow: Sendable, CustomTestStringConvertible {
  let file: String
  /// From 0, in the file.
  let table: Int
  let result: RowResult

  /// "Lockout.md:12 R7 a third wrong finger".
  var testDescription: String {
    let rules = result.row.rules.map { "R\($0) " }.joined()
    return "\(file):\(result.row.position.line) \(rules)\(result.row.name)"
  }

  /// A file that cannot be read has none: a test of its own says so.
  static let all: [PlayedRow] = TableFile.all.flatMap { file in
    ((try? file.read())?.tables ?? []).enumerated().flatMap { index, table in
      table.run().map { PlayedRow(file: file.name, table: index, result: $0) }
    }
  }
}

enum Sources {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardized

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
