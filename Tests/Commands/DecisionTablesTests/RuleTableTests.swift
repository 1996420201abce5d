// The rules, row by row.

import DecisionTables
import Testing
import TouchstonePolicy

@Suite("Rules as tables") struct RuleTableTests {
  @Test("every file can be read", arguments: TableFile.all)
  func reads(file: TableFile) {
    do {
      _ = try file.read()
    } catch {
      for error in error.errors { Issue.record("\(file.name):\(error)") }
    }
  }

  @Test("every row comes out as it says", arguments: PlayedRow.all)
  func row(played: PlayedRow) {
    for difference in played.result.differences { Issue.record("\(played.file):\(difference)") }
  }

  @Test("there are hundreds of rows, each with its rules and a name of its own in its table")
  func names() {
    #expect(PlayedRow.all.count >= 400)
    var names: Set<[String]> = []
    for played in PlayedRow.all {
      let row = played.result.row
      #expect(!row.rules.isEmpty, "\(played.testDescription)")
      #expect(!row.name.isEmpty, "\(played.testDescription)")
      #expect(names.insert([played.file, "\(played.table)", row.name]).inserted, "\(played.testDescription)")
    }
  }

  @Test("the known rules are those of docs/RULES.md")
  func page() throws {
    let headings = try Sources.text(of: "docs/RULES.md").matches(of: #/\n### R(\d+) \S/#)
    #expect(headings.compactMap { Int($0.1) } == Array(RuleTrace.knownRules))
  }

  @Test("every rule has a row, or a test elsewhere that a row names", arguments: RuleTrace.knownRules)
  func coverage(rule: Int) {
    let isDecided = PlayedRow.all.contains { $0.result.row.rules.contains(rule) }
    let isElsewhere = ElsewhereRow.all.contains { $0.rules.contains(rule) }
    #expect(isDecided || isElsewhere, "R\(rule) has no row")
  }
}
