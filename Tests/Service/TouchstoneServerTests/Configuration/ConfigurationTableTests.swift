// The table is what the reading, the example and the page of all settings follow.

import Foundation
import SettingFiles
import TestSupport
import Testing
import TouchstoneService

@testable import TouchstoneServer

@Suite("The table of settings")
struct ConfigurationTableTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../..").standardized

  @Test("No two settings share a variable or a flag, and no variable is one that Kubernetes sets")
  func names() {
    let settings = ConfigurationTable.settings
    #expect(settings.count > 30)
    #expect(Set(settings.map(\.variable)).count == settings.count)
    #expect(Set(settings.map(\.flag)).count == settings.count)
    for setting in settings {
      #expect(setting.variable.wholeMatch(of: #/TOUCHSTONE(_[A-Z]+)+/#) != nil)
      for text in ["1", "tcp://10.0.0.1:7443"] { #expect(!KubernetesVariables.contain(setting.variable, text)) }
    }
  }

  @Test("A setting is named by its path")
  func path() throws {
    let setting = try #require(ConfigurationTable.settings.first { $0.name == "limits.strangers_per_address" })
    #expect(setting.variable == "TOUCHSTONE_LIMITS_STRANGERS_PER_ADDRESS")
    #expect(setting.flag == "--limits-strangers-per-address")
  }

  // MARK: What the reading takes

  /// A value of one setting alone, and whether the reading takes it. Errors about other settings do not matter here.
  private struct Trial: CustomTestStringConvertible {
    let setting: ConfigurationSetting
    let text: String
    let isTaken: Bool

    var testDescription: String { "\(setting.name): \(text)" }
  }

  private static let trials = ConfigurationTable.settings.flatMap { setting in
    values(of: setting.row.shape).map { Trial(setting: setting, text: $0.text, isTaken: $0.isTaken) }
  }

  private static func values(of shape: ValueShape) -> [(text: String, isTaken: Bool)] {
    switch shape {
    case .integer(let bounds):
      [("\(bounds.lowerBound)", true), ("\(bounds.upperBound)", true), ("\(bounds.lowerBound - 1)", false)]
        + [("\(bounds.upperBound + 1)", false), ("many", false)]
    case .share: [("0", true), ("1", true), ("0.5", true), ("-0.1", false), ("1.01", false), ("nan", false)]
    case .duration(let bounds), .age(let bounds):
      [("\(bounds.lowerBound.components.seconds)s", true), ("\(bounds.upperBound.components.seconds)s", true)]
        + [
          ("\(bounds.lowerBound.components.seconds - 1)s", false),
          ("\(bounds.upperBound.components.seconds + 1)s", false),
        ]
        + [("10", false)]
    case .word(let words): words.map { ($0, true) } + [("\(words[0])x", false), ("", false)]
    case .boolean: [("true", true), ("false", true), ("yes", false)]
    case .text(let bytes):
      [
        (String(repeating: "a", count: bytes.upperBound), true),
        (String(repeating: "a", count: bytes.upperBound + 1), false),
      ]
    case .path: [("/a", true), (String(repeating: "a", count: 5_000), false)]
    case .endpoint: [("127.0.0.1:1", true), ("nowhere", false)]
    case .store: [("sqlite", true), ("postgresql://db.example/touchstone", true), ("mysql://db", false)]
    case .either(let shapes): shapes.first.map(values(of:)) ?? []
    case .form, .version, .list, .section, .map: []
    }
  }

  @Test("The reading takes what is within a row's bounds, and refuses what is not", arguments: trials)
  private func bounds(trial: Trial) throws {
    var errors: [String] = []
    do throws(Failure) {
      _ = try ConfigurationSources(variables: [(trial.setting.variable, trial.text)]).load(nil)
    } catch {
      errors = error.lines.filter { $0.hasPrefix("\(trial.setting.variable): \(trial.setting.name) must be") }
    }
    if trial.setting.name == "keys" || trial.text.isEmpty {
      #expect(errors.isEmpty)
    } else {
      #expect(errors.isEmpty == trial.isTaken, "\(errors)")
    }
  }

  @Test("A default is what a configuration without the key has")
  func defaults() throws {
    var text = ""
    for setting in ConfigurationTable.settings where setting.path.count == 1 {
      if case .value(let standard)? = setting.row.standard { text += "\(setting.name): \(standard)\n" }
    }
    #expect(text.contains("watch_files: 10s"))
    let standard = try ProcessConfiguration.parse([], of: "")
    let written = try ProcessConfiguration.parse(Array(text.utf8), of: "")
    #expect(standard.settingsOtherThan(in: written).isEmpty)
    #expect(standard.watchFiles == written.watchFiles)
    #expect(standard.service.policies == written.service.policies)
  }

  @Test("A secret is found wherever a row says that there is one, and a store's password in its URI")
  func secrets() throws {
    let hash = KeyRow(.form("a hash"), isSecret: true, "").named("hash")
    let row = KeyRow(.map(.list(.section([hash, KeyRow(.boolean, "").named("open")]), 1...2), atMost: 2), "")
    let setting = ConfigurationSetting(path: ["operators"], row: row)
    #expect(setting.mayHoldSecret)
    for (text, isSecret) in [
      ("{ann: [{hash: x}]}", true), ("{ann: [{open: true}]}", false), ("{}", false), ("x", false),
    ] {
      var errors: [YAMLError] = []
      let node = try #require(setting.node([text], of: setting.variable, errors: &errors))
      #expect(node.holdsSecret(row) == isSecret, "\(text)")
    }
    let secret = ConfigurationTable.settings.filter(\.mayHoldSecret).map(\.name)
    #expect(secret == ["operators", "store"])
  }

  // MARK: The pages

  private static let example = root.appending(path: "deploy/touchstone.example.yaml")

  @Test("The example has each key, by its name and a colon")
  func example() throws {
    let words = Set(try File.text(Self.example.path()).split { !($0.isLetter || $0 == "_" || $0 == ":") })
    #expect(Self.names(of: ConfigurationTable.rows).filter { !words.contains("\($0):") } == [])
  }

  /// Also of the elements of maps and lists, but for policies, which have an example of their own.
  private static func names(of rows: [KeyRow]) -> [String] {
    rows.flatMap { row in [row.name] + (row.name == "policies" ? [] : names(in: row.shape)) }
  }

  private static func names(in shape: ValueShape) -> [String] {
    switch shape {
    case .section(let rows): names(of: rows)
    case .list(let shape, _), .map(let shape, _): names(in: shape)
    case .either(let shapes): shapes.flatMap(names(in:))
    default: []
    }
  }

  @Test("The example is right")
  func exampleReading() throws {
    _ = try ProcessConfiguration.parse(try File.read(Self.example.path()), of: Self.example.path())
  }

  private static let page = root.appending(path: "docs/CONFIGURATION.md")
  private static let marks = ("<!-- settings -->\n", "<!-- end of settings -->")

  private static var table: String {
    let rows = ConfigurationTable.settings.map { setting in
      let standard =
        switch setting.row.standard {
        case .value(let text): "`\(text)`"
        case .words(let words): words
        case nil: ""
        }
      return "| `\(setting.name)` | \(setting.row.shape.words) | \(standard) | \(setting.row.meaning) |\n"
    }
    return "| key | values | default | meaning |\n|---|---|---|---|\n" + rows.joined()
  }

  @Test("docs/CONFIGURATION.md has the table as it is; with ACCEPT=1 this test writes it there")
  func documented() throws {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    let begin = try #require(text.range(of: Self.marks.0)).upperBound
    let end = try #require(text.range(of: Self.marks.1)).lowerBound
    if ProcessInfo.processInfo.environment["ACCEPT"] == "1" {
      try (text[..<begin] + Self.table + text[end...]).write(to: Self.page, atomically: true, encoding: .utf8)
    } else {
      #expect(text[begin..<end] == Self.table, "run this test with ACCEPT=1, and read the difference")
    }
  }
}
