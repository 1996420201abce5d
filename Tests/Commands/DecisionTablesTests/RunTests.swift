// That a row which says something wrong is found, whatever it is wrong in; and that no file, however damaged, traps.

import DecisionTables
import TestSupport
import Testing
import TouchstonePolicy

@Suite("Running tables") struct RunTests {
  private func differences(_ text: String, policies: [EvaluationPolicy] = EvaluationPolicy.builtIn) throws -> [String] {
    try DecisionTableFile(text, policies: policies).run().map(\.description)
  }

  @Test("a wrong cell is a difference with its place, and says what is and what should be")
  func found() throws {
    let found = try differences(
      """
      | case | policy | standing | attempt | → outcome | code | next | left | change | fallback | device | evaluation |
      |---|---|---|---|---|---|---|---|---|---|---|---|
      | right | login | | wrong biometry | TRY_AGAIN | -1 | biometry | 4 | UNCHANGED | visible | failures 1 | failures 1 |
      | wrong | login | | wrong biometry | SUCCEEDED | | | 5 | CHANGED | | | failures 2, finished |
      | | login | | right biometry | FAILED | | | 5 | UNCHANGED | | | failures 0, finished |
      """)
    #expect(
      found == [
        "4:38: wrong: outcome is TRY_AGAIN, not SUCCEEDED",
        "4:50: wrong: code is -1, not nothing",
        "4:52: wrong: next is biometry, not nothing",
        "4:54: wrong: left is 4, not 5",
        "4:58: wrong: change is UNCHANGED, not CHANGED",
        "4:68: wrong: fallback is visible, not nothing",
        "4:70: wrong: device is failures 1, not nothing",
        "4:72: wrong: evaluation is failures 1, not failures 2, finished",
        "5:32: outcome is SUCCEEDED, not FAILED",
      ])
  }

  @Test(
    "each expected column is compared",
    arguments: [
      ("outcome", "right biometry", "", "SUCCEEDED", "FAILED"),
      ("code", "wrong biometry", "", "-1", "-8"),
      ("code", "right biometry", "", "", "-1"),
      ("reason", "can_evaluate", "failures 5, locked", "BIOMETRY_LOCKOUT", "OS_TOO_OLD"),
      ("result", "report -2", "", "CANCEL", "OTHER"),
      ("next", "report -2", "passcode set", "biometry, passcode", "passcode, biometry"),
      ("left", "right biometry", "", "5", "4"),
      ("change", "right biometry", "no baseline", "NEVER_RECORDED", ""),
      ("retry", "right passcode", "passcode failures 5, passcode locked 1m30s", "1m30s", "1m31s"),
      ("retry", "right passcode", "passcode failures 5, passcode locked 1m30s", "90s", ""),
      ("fallback", "wrong biometry", "", "visible", ""),
      ("device", "wrong biometry", "failures 4", "failures 5, locked", "failures 5"),
      ("evaluation", "right biometry", "", "failures 0, finished", "failures 0"),
      ("evaluation", "wrong device_owner", "keys user_presence, evaluation failures 1", "failures 2", "failures 1"),
      ("passcode", "wrong passcode", "passcode failures 4", "failures 5, locked 1m", "failures 5, locked 61s"),
      ("passcode", "wrong passcode", "passcode failures 9", "failures 10, disabled", "failures 10"),
      ("passcode", "admit passcode #1", "passcode set", "failures 1, in_flight 1", "failures 1"),
      ("gesture", "wrong gesture", "gesture set", "failures 1", ""),
      ("gesture", "switch gesture off", "gesture set", "failures 0, not set", "failures 0"),
      ("baseline", "right passcode", "passcode set, baseline B 9", "A 17", "B 17"),
      ("baseline", "right passcode", "passcode set, baseline B 9", "A 17", "A 16"),
    ])
  func compared(column: String, attempt: String, standing: String, right: String, wrong: String) throws {
    func table(_ expected: String) -> String {
      "| policy | attempt | standing | → \(column) |\n|---|---|---|---|\n"
        + "| login | \(attempt) | \(standing) | \(expected) |"
    }
    #expect(try differences(table(right)) == [])
    #expect(try differences(table(wrong)).count == 1)
  }

  @Test("a story goes on from what the row above left, and other rows do not")
  func stories() throws {
    let found = try differences(
      """
      | policy | standing | attempt | → outcome | left |
      |---|---|---|---|---|
      | login | | wrong biometry | TRY_AGAIN | 4 |
      | login | then | wrong biometry | TRY_AGAIN | 3 |
      | login | | wrong biometry | TRY_AGAIN | 4 |
      | login | then, failures 4 | wrong biometry | LOCKED_OUT | 0 |
      | login | then, device #2, evaluation #2, account #2 | right biometry | SUCCEEDED | 5 |
      | login | then, device #1 | can_evaluate | DENIED | 0 |
      """)
    #expect(found == [])
  }

  @Test("a verdict on what was not admitted is a difference, whatever the row expects")
  func notAdmitted() throws {
    let found = try differences(
      "| policy | attempt | → outcome |\n|---|---|---|\n| login | settle #1 right | SUCCEEDED |")
    #expect(found == ["3:29: outcome is NOT_ADMITTED, not SUCCEEDED"])
  }

  @Test("the policies are those that are handed in, found by the bytes of their names")
  func policies() throws {
    var mine = EvaluationPolicy(name: "caf\u{E9}", purpose: .login, factors: [.biometry], tokenLifetime: nil)
    mine.attemptsPerEvaluation = 1
    func table(_ name: String) -> String {
      "| policy | attempt | → outcome |\n|---|---|---|\n| \(name) | wrong biometry | FAILED |"
    }
    #expect(try differences(table("caf\u{E9}"), policies: [mine]) == [])
    for name in ["cafe\u{301}", "login", "Caf\u{E9}"] {
      #expect(throws: TableErrors.self) { try differences(table(name), policies: [mine]) }
    }
  }

  @Test("no number or time that a table can say is too much for the rules", arguments: ["+36525d", "", "-36525d"])
  func extremes(time: String) throws {
    let standing = """
      failures 1000000, evaluation failures 1000000, evaluation device_owner_failures 1000000, baseline A 1000000, \
      passcode failures 1000000, passcode in_flight 1000000 36525d, passcode locked 36525d, gesture failures 1000000
      """
    var table = "| policy | standing | attempt | time | → outcome |\n|---|---|---|---|---|\n"
    for policy in ["login", "login, fallback automatic, lockout_after 1000000, attempts 1000000", "payment"] {
      for attempt in [
        "can_evaluate", "right biometry", "wrong biometry", "wrong device_owner", "wrong passcode", "right gesture",
        "report -1", "primary 36525d old", "primary 36525d ahead", "set passcode, old wrong",
        "complete_binding, bindings 1000000", "accept_state, token 36525d ahead", "begin_binding, primary 36525d old",
      ] {
        table += "| \(policy) | \(standing) | \(attempt) | \(time) | WAIT |\n"
      }
    }
    // That it came to some answer is what is tested.
    #expect(try DecisionTableFile(table, policies: EvaluationPolicy.builtIn).tables[0].rows.count == 39)
    #expect(try !differences(table).isEmpty)
  }

  @Test("the rules' own rows, spoilt, are found one and all", arguments: TableFile.all)
  func spoilt(file: TableFile) throws {
    // Outcomes are swapped for others that no row has.
    var text = file.text
    let swaps = [
      ("| SUCCEEDED", "| CANCELED"), ("| TRY_AGAIN", "| FALLBACK"), ("| YES", "| WAIT"), ("| ACTIVE", "| WAIT"),
      ("| CONSUMED", "| WAIT"),
    ]
    for (right, wrong) in swaps {
      text = text.split(separator: right, omittingEmptySubsequences: false).joined(separator: wrong)
    }
    let spoilt = try DecisionTableFile(text, policies: EvaluationPolicy.builtIn)
    let swapped = zip(file.text.split(separator: "\n"), text.split(separator: "\n")).filter { $0 != $1 }.count
    // A story's rows rest on one another, but not on what they expect.
    #expect(Set(spoilt.run().map(\.position.line)).count >= swapped && swapped > 0)
  }

  @Test("damaged files are read or refused", arguments: 1...8 as ClosedRange<UInt64>)
  func damaged(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let files = TableFile.all.map(\.text)
    var refused = 0
    for _ in 0..<40 {
      guard let whole = files.randomElement(using: &random) else { return }
      // A part of it: a whole file takes its time.
      let lines = whole.split(separator: "\n", omittingEmptySubsequences: false)
      let start = Int.random(in: 0..<lines.count, using: &random)
      var scalars = Array(lines[start...].prefix(40).joined(separator: "\n").unicodeScalars)
      for _ in 0..<Int.random(in: 1...6, using: &random) where !scalars.isEmpty {
        damage(&scalars, using: &random)
      }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      do {
        _ = try DecisionTableFile(String(text), policies: EvaluationPolicy.builtIn).run()
      } catch {
        refused += 1
        #expect(!error.errors.isEmpty && error.errors.count <= TableErrors.maximumCount)
        #expect(error.errors.allSatisfy { $0.position.line > 0 && $0.position.column > 0 })
      }
    }
    #expect(refused > 0)
  }

  private func damage(_ scalars: inout [Unicode.Scalar], using random: inout SeededGenerator) {
    let hostile: [Unicode.Scalar] = [
      "|", "\\", "\n", "\r", "`", ",", "+", "#", "-", "0", "9", " ", "\0", "\u{301}", "→",
    ]
    let index = Int.random(in: 0..<scalars.count, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: scalars.remove(at: index)
    case 1: scalars.insert(hostile.randomElement(using: &random) ?? "|", at: index)
    case 2: scalars[index] = hostile.randomElement(using: &random) ?? "|"
    default: scalars.replaceSubrange(index..., with: scalars[..<index])
    }
  }
}
