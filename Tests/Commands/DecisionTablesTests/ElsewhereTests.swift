// Other tests show the rules that the tables alone cannot show; this table names them, and must be right.

import DecisionTables
import Foundation
import Testing
import TouchstonePolicy

/// rules | what | file | test.
struct ElsewhereRow: Sendable, CustomTestStringConvertible {
  let rules: [Int]
  let what: String
  let path: String
  let test: String

  var testDescription: String { rules.map { "R\($0) " }.joined() + what }

  static let all: [ElsewhereRow] = {
    guard let file = TableFile.elsewhere, let document = try? TableDocument(file.text) else { return [] }
    return document.blocks.flatMap { block -> [ElsewhereRow] in
      guard case .table(let table) = block else { return [] }
      return table.rows.map { row in
        let cells = row.texts
        return ElsewhereRow(
          rules: cells[0].split(separator: " ").compactMap { Int($0.dropFirst()) }, what: cells[1], path: cells[2],
          test: cells[3])
      }
    }
  }()

  /// The names of a file's tests: `@Test("name")`, `@Test func name(`, a store's `Check(name: "name")` or
  /// `ParallelCheck("name")`, and Python's `def test_name(`.
  static func tests(in source: String) -> Set<String> {
    var names: Set<String> = []
    for test in source.split(separator: "@Test", omittingEmptySubsequences: false).dropFirst() {
      if let title = test.prefixMatch(of: /\(\s*"((?:[^"\\]|\\.)*)"/) { names.insert(String(title.1)) }
      if let function = test.firstMatch(of: /func (?:`([^`]+)`|(\w+))/) {
        names.insert(String(function.1 ?? function.2 ?? ""))
      }
    }
    for match in source.matches(of: /Check\(\s*(?:name: )?"([^"]*)"/) { names.insert(String(match.1)) }
    for match in source.matches(of: /def (test_\w+)\(/) { names.insert(String(match.1)) }
    return names
  }
}

@Suite("Rules tested elsewhere") struct ElsewhereTests {
  @Test("each row names a test that exists", arguments: ElsewhereRow.all)
  func named(row: ElsewhereRow) throws {
    #expect(!row.rules.isEmpty && row.rules.allSatisfy(RuleTrace.knownRules.contains))
    let source = try #require(try? Sources.text(of: row.path), "there is no \(row.path)")
    #expect(ElsewhereRow.tests(in: source).contains(row.test), "\(row.path) has no test \"\(row.test)\"")
  }

  @Test("a name that no test has is not found")
  func missing() {
    let source = """
      @Test("R7: three wrong")
      func three() {}
      @Test(
        "R8: of a \\"device\\"", arguments: [])
      func device() {}
      @Test(arguments: 1...2) func `in words`(number: Int) {}
      private func helper() {}
      def test_it(service):
      def helps():
      Check(name: "a record is kept") {
      """
    let names = ElsewhereRow.tests(in: source)
    #expect(
      names == [
        "R7: three wrong", "three", "R8: of a \\\"device\\\"", "device", "in words", "test_it", "a record is kept",
      ])
  }
}
