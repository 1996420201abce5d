// The contents of a table file, and the errors of one that cannot be read.

import DecisionTables
import Testing
import TouchstonePolicy

@Suite("Reading tables") struct ReadingTests {
  /// A table of one row, with the given cells.
  private static func table(
    policy: String = "login", posture: String = "", standing: String = "", attempt: String = "right biometry",
    time: String = "", outcome: String = "SUCCEEDED"
  ) -> String {
    """
    | case | policy | posture | standing | attempt | time | → outcome |
    |---|---|---|---|---|---|---|
    | a case | \(policy) | \(posture) | \(standing) | \(attempt) | \(time) | \(outcome) |
    """
  }

  private func errors(_ text: String) -> [TableError] {
    do {
      _ = try DecisionTableFile(text, policies: EvaluationPolicy.builtIn)
      return []
    } catch {
      return error.errors
    }
  }

  private func rows(_ text: String) throws -> [DecisionRow] {
    try DecisionTableFile(text, policies: EvaluationPolicy.builtIn).tables.flatMap(\.rows)
  }

  @Test("a table has its heading, and its rows their names, rules and places")
  func wellFormed() throws {
    let file = try DecisionTableFile(
      """
      # Title

      Prose with | a bar, and a list:
      - policy: nobody's

      ## R1: the *first*

      | rules | case | policy | attempt | => outcome |
      |:-----|---|--:|---|---|
      | R1, R2 R3 | `some` case \\| with a bar | login | can_evaluate | YES |
      |R4||login|can_evaluate|YES|
      """, policies: EvaluationPolicy.builtIn)
    let table = try #require(file.tables.first)
    #expect(file.tables.count == 1)
    #expect(table.title == "R1: the *first*")
    #expect(table.rows.map(\.rules) == [[1, 2, 3], [4]])
    #expect(table.rows.map(\.name) == ["some case | with a bar", ""])
    #expect(table.rows.map(\.position) == [TablePosition(line: 10, column: 1), TablePosition(line: 11, column: 1)])
    #expect(file.run() == [])
  }

  @Test("lines may end as on any system, and the last one may not", arguments: ["\n", "\r\n"])
  func lineEnds(end: String) throws {
    let text = Self.table().split(separator: "\n").joined(separator: end)
    #expect(try rows(text).count == 1)
    #expect(try rows(text + end).count == 1)
    #expect(try rows("# Title" + end + end + text + end + end).count == 1)
  }

  @Test("what is given holds beneath its heading; deeper lists add to it, and a row adds to both")
  func given() throws {
    let file = try DecisionTableFile(
      """
      # One

      Given:

      - policy: login, attempts 1
      - standing: failures 1
      - attempt: wrong biometry

      | case | → outcome | device |
      |---|---|---|
      | from the top | FAILED | failures 2 |

      ## Deeper
      Given:
      * standing: evaluation failures 0, failures 2
      * rules: R7

      | case | standing | → outcome | device |
      |---|---|---|---|
      | deeper | | FAILED | failures 3 |
      | its own | failures 3 | FAILED | failures 4 |

      Given:
      - posture: sensor off

      | case | → outcome | device |
      |---|---|---|
      | in place of the list above it | FAILED | |

      ## Beside it

      | case | → outcome | device |
      |---|---|---|
      | as at the top | FAILED | failures 2 |

      # Two

      | case | policy | attempt | → outcome | device |
      |---|---|---|---|---|
      | nothing is left of it | login | wrong biometry | TRY_AGAIN | failures 1 |
      """, policies: EvaluationPolicy.builtIn)
    #expect(file.run().map(\.description) == [])
    #expect(file.tables.map { $0.rows[0].rules } == [[], [7], [], [], []])
  }

  @Test("code and comments are not read")
  func unread() throws {
    let text = """
      ```
      | case | → outcome |
      ```
      <!-- | case | → outcome | -->
      <!--
      Given:
      -->
      ~~~markdown
      Given:
      ~~~
      """
    #expect(try rows(text + "\n" + Self.table()).count == 1)
  }

  @Test(
    "every error has its line and column, and says what is wrong",
    arguments: [
      // Words of the columns.
      (table(policy: "logim"), "3:12: no policy has the name \"logim\"; there are deviceOwner"),
      (table(policy: "login, attempt 2"), "3:19: \"attempt 2\" is no setting of a policy; there are"),
      (table(policy: "login, attempts 0"), "3:19: must be at least 1"),
      (table(policy: "login, ladder 5 1m + 3 2m"), "3:19: the ladder has failures that do not rise"),
      (table(policy: "login, ladder 5"), "3:19: a rung has the form"),
      (table(policy: "login, ladder 5 1m + "), "3:19: a rung has the form"),
      (table(policy: "login, factors biometry passcode"), "3:19: a list has one + between two words"),
      (table(policy: "login, factors biometry +"), "3:19: a list has + between its words"),
      (table(policy: "login, factors bio"), "3:19: \"bio\" is no factor; there are biometry, device_owner"),
      (table(policy: "login, minimum_os nine"), "3:19: \"minimum_os nine\" is no setting of a policy"),
      (table(posture: "touch_id, lockd"), "3:30: \"lockd\" is no posture; there are \"iOS 9.3\""),
      (table(posture: "touch_id,, locked"), "3:29: words are missing before or after a comma"),
      (table(posture: "iOS 9.x"), "3:20: \"9.x\" is no version such as 9.3"),
      (table(posture: "iOS 9 3"), "3:20: \"iOS 9 3\" is no posture"),
      (table(standing: "failures four"), "3:23: \"four\" is no number from 0 to 1000000"),
      (table(standing: "failures -1"), "3:23: \"-1\" is no number from 0 to 1000000"),
      (table(standing: "failures +1"), "3:23: \"+1\" is no number"),
      (table(standing: "failures 1000001"), "3:23: \"1000001\" is no number"),
      (table(standing: "passcode locked 5"), "3:23: \"5\" is no duration such as 30s"),
      (table(standing: "passcode locked 36526d"), "3:23: \"36526d\" is no duration"),
      (table(standing: "passcode locked 99999999999999999999s"), "3:23: \"99999999999999999999s\" is no duration"),
      (table(standing: "passcode closed"), "3:23: \"passcode closed\" is no standing; there are \"then\""),
      (table(standing: "keys"), "3:23: a list has + between its words"),
      (table(standing: "keys biometry"), "3:23: \"biometry\" is no key protection; there are biometry_current_set"),
      (table(standing: "evaluation #0"), "3:23: \"#0\" is not one of #1 to #1000"),
      (table(standing: "then"), "3:3: the table's first row cannot continue a previous one"),
      (table(standing: "locked, then"), "3:31: \"then\" is no standing"),
      (table(attempt: "wright biometry"), "3:26: \"wright biometry\" is no attempt; there are \"can_evaluate\""),
      (table(attempt: "right biometry, wrong biometry"), "3:42: a row is one attempt"),
      (table(attempt: "right primary"), "3:26: \"right primary\" is no attempt"),
      (table(attempt: "report 8"), "3:26: \"8\" is no code of LAError; there are -1, -2"),
      (table(attempt: "set biometry"), "3:26: must be passcode or gesture"),
      (table(attempt: "primary 4m"), "3:26: an age is required, as in \"primary 4m old\""),
      (table(attempt: "begin_binding"), "3:26: more must follow, as in \"begin_binding, primary 4m old\""),
      (table(attempt: "choose profile_touch_id hex:0"), "3:26: after \"hex:\", each byte has two digits"),
      (table(attempt: "choose profile_touch_id hex:+1"), "3:26: after \"hex:\", each byte has two digits"),
      (table(attempt: "can_evaluate, now"), "3:40: a row is one attempt"),
      (table(attempt: ""), "3:3: the row has no attempt, nor was one given above"),
      (table(policy: ""), "3:1: the row has no policy, nor was one given above"),
      (table(time: "1m"), "3:43: a time is a difference, later or earlier: +1m, -1h"),
      (table(time: "+1m, +1m"), "3:48: must be a single time"),
      (table(outcome: "SUCCEDED"), "3:46: \"SUCCEDED\" is no outcome; there are SUCCEEDED"),
      (table(outcome: "FAILED, FAILED"), "3:54: one outcome stands here"),
      (
        table(time: "+36525d") + "\n| b | login | | then | right biometry | +1s | FAILED |",
        "4:3: the story lasts longer"
      ),
      (
        table(time: "-36525d") + "\n| b | login | | then | right biometry | -1s | FAILED |",
        "4:3: the story lasts longer"
      ),
      // Columns.
      ("| case | outcome |\n|---|---|\n| a | YES |", "1:3: no column begins with →"),
      ("| polcy | → outcome |\n|---|---|", "1:3: \"polcy\" is no given column; there are rules, case, policy"),
      ("| case | → result | outcom |\n|---|---|---|", "1:21: \"outcom\" is no expected column; there are outcome"),
      ("| case | case | → outcome |\n|---|---|---|", "1:10: the column is here twice"),
      ("| case | → left | left |\n|---|---|---|", "1:19: the column is here twice"),
      ("| case | → left | → code |\n|---|---|---|", "1:19: only the first expected column begins with →"),
      (
        "| rules | → left |\n|---|---|\n| R0 | 1 |",
        "3:3: \"R0\" is no rule from R1 to R\(RuleTrace.knownRules.upperBound)"
      ),
      ("| rules | → left |\n|---|---|\n| 7 | 1 |", "3:3: \"7\" is no rule"),
      // Tables.
      ("| case | → left |\n| a | 1 |", "1:1: the line below the header is missing"),
      ("| case | → left |", "1:1: the line below the header is missing"),
      ("| case | → left |\n|---|---|\n| a | 1 | 2 |", "3:1: cells in the row: 3, in its header: 2"),
      ("| case | → left |\n|---|---|\n| a |", "3:1: cells in the row: 1, in its header: 2"),
      ("| case | → left |\n|---|---|\n| a | 1", "3:1: the row does not end with |"),
      ("| case | → left |\n|---|---|\n|", "3:1: the row does not end with |"),
      // Given.
      ("Given:\n- polcy: login", "2:3: \"polcy\" cannot be given; there are rules, policy"),
      ("Given:\n- case: one", "2:3: \"case\" cannot be given"),
      ("Given:\n- policy login", "2:3: a colon is missing"),
      ("Given:\n- policy: logim", "2:11: no policy has the name"),
      ("Given:\n- standing: then", "2:13: only a row can continue the previous one"),
      ("Given:\n- policy: login\n  and more", "3:3: after \"Given:\" comes a list"),
      ("Given:\n\n# Next", "3:1: after \"Given:\" comes a list"),
      ("given:", "1:1: nothing is given"),
      // The file.
      ("", "1:1: there is no decision table with a row in the file"),
      ("# Prose\n\nand more", "1:1: there is no decision table with a row in the file"),
      ("| case | → left |\n|---|---|", "1:1: there is no decision table with a row in the file"),
      ("text\n```\n| case | → left |", "2:1: this code block has no end"),
      ("<!-- a\n| case | → left |", "1:1: this comment has no end"),
    ])
  func located(text: String, expected: String) {
    let found = errors(text)
    #expect(found.first?.description.hasPrefix(expected) == true, "\(found)")
  }

  @Test("columns count characters as an editor does, and what is shown of a file is escaped")
  func characters() {
    #expect(errors("| 密码 | → left |\n|---|---|")[0].position == TablePosition(line: 1, column: 3))
    #expect(errors("| case | 🙂 | → left |\n|---|---|---|")[0].position == TablePosition(line: 1, column: 10))
    let escape = errors(Self.table(posture: "\u{1B}[2Jlocked"))[0]
    #expect(escape.message.hasPrefix("\"\\u{1B}[2Jlocked\" is no posture"))
  }

  @Test("all errors are told, up to a bound, in their order")
  func several() {
    let header = "| case | policy | attempt | → outcome |\n|---|---|---|---|\n"
    let row = "| a | nobody | can_evaluate | YES |\n"
    #expect(errors(header + String(repeating: row, count: 3)).map(\.position.line) == [3, 4, 5])
    #expect(errors(header + String(repeating: row, count: 500)).count == TableErrors.maximumCount)
    #expect(errors(String(repeating: "Given:\n- nothing\n\n", count: 500)).count == TableErrors.maximumCount)
  }

  @Test("no more is read than anybody writes")
  func bounds() throws {
    let row = "| case |" + String(repeating: " x |", count: 40)
    #expect(errors(row)[0].message == "the table has more than 32 columns")

    let table = Self.table()
    let filler = String(repeating: "x", count: TableDocument.maximumBytes - table.utf8.count - 1)
    #expect(try rows(table + "\n" + filler).count == 1)
    #expect(errors(table + "\n" + filler + "x").map(\.message) == ["the file is longer than 1048576 bytes"])
  }

  @Test("every phrase that an error names can be read")
  func vocabulary() throws {
    func known(_ table: String) throws -> [String] {
      let message = try #require(errors(table).first?.message)
      let phrases = message.matches(of: /"((?:[^"\\]|\\.)*)"/).map { String($0.1) }
      try #require(phrases.count > 5)
      return Array(phrases.dropFirst())
    }
    for phrase in try known(Self.table(policy: "login, x")) {
      #expect(errors(Self.table(policy: "login, \(phrase)")) == [], "\(phrase)")
    }
    for phrase in try known(Self.table(posture: "x")) {
      #expect(errors(Self.table(posture: phrase)) == [], "\(phrase)")
    }
    for phrase in try known(Self.table(attempt: "x")) {
      #expect(errors(Self.table(attempt: phrase)) == [], "\(phrase)")
    }
    for phrase in try known(Self.table(standing: "x")) {
      let second = Self.table() + "\n| b | login | | \(phrase) | right biometry | | SUCCEEDED |"
      #expect(errors(second) == [], "\(phrase)")
    }
  }

  @Test("every phrase that docs/POLICIES.md lists can be read")
  func documented() throws {
    let page = try #require(TableFile.all.first { $0.name == "POLICIES.md" }).text
    var count = 0
    for line in page.split(separator: "\n") {
      guard let column = line.firstMatch(of: #/^\| (posture|standing): /#)?.1 else { continue }
      // "and of `gesture`", "`#1` is the first": parts of phrases.
      for phrase in line.matches(of: /`([^`]+)`/).map(\.1) where phrase != "gesture" && phrase != "#1" {
        let table = column == "posture" ? Self.table(posture: "\(phrase)") : Self.table(standing: "\(phrase)")
        #expect(errors(table) == [], "\(phrase)")
        count += 1
      }
    }
    #expect(count > 40)
  }
}
