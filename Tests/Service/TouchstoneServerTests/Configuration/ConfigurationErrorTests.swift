// Each thing that is wrong with a configuration file is named, with its field and its place.

import Testing

@testable import TouchstoneServer

/// A file with a mark before each word that is wrong, and what must be said about each, in that order.
struct BadFile: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let marked: String
  let complaints: [String]

  init(_ name: String, _ marked: String, _ complaints: String...) {
    self.init(name, marked, complaints)
  }

  init(_ name: String, _ marked: String, _ complaints: [String]) {
    testDescription = name
    self.marked = marked
    self.complaints = complaints
  }

  /// Settings of a policy that is right without them.
  static func policy(_ name: String, _ settings: String, _ complaint: String, _ more: String...) -> BadFile {
    BadFile(name, beginning: "    purpose: login\n    factors: [biometry, passcode]\n" + settings, [complaint] + more)
  }

  private init(_ name: String, beginning settings: String, _ complaints: [String]) {
    testDescription = name
    marked = "policies:\n  mine:\n" + settings
    self.complaints = complaints
  }

  /// "FILE:LINE:COLUMN: " of each mark. Columns are counted in characters.
  var places: [String] {
    var places: [String] = []
    for (line, text) in marked.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      var column = 1
      for character in text {
        if character == "‸" { places.append("touchstone.yaml:\(line + 1):\(column): ") } else { column += 1 }
      }
    }
    return places
  }

  /// Without the marks.
  var bytes: [UInt8] { Array(marked.filter { $0 != "‸" }.utf8) }

  var complaintsOfReading: [String] {
    do throws(ConfigurationErrors) {
      _ = try ProcessConfiguration.parse(bytes, of: "touchstone.yaml")
      return []
    } catch {
      return error.lines
    }
  }

  /// What is wrong, each in a line with its place.
  func expectNamed(in lines: [String]) {
    #expect(places.count == complaints.count)
    #expect(lines.count == complaints.count, "\(lines)")
    for (line, (place, complaint)) in zip(lines, zip(places, complaints)) {
      #expect(line.hasPrefix(place), "\(line)")
      #expect(line.contains(complaint), "\(line)")
    }
  }
}

@Suite("Configuration errors")
struct ConfigurationErrorTests {
  @Test("What is wrong is named with its place", arguments: wrong + BadFile.accessErrors)
  func places(file: BadFile) {
    file.expectNamed(in: file.complaintsOfReading)
  }

  @Test("All that is wrong is named, in the file's order")
  func order() {
    let policies = Self.wrong.filter { $0.marked.hasPrefix("policies:\n  mine:\n") }
    var marked = "policies:\n"
    for (number, file) in policies.enumerated() {
      marked += file.marked.replacing("policies:\n", with: "").replacing("mine:", with: "mine-\(number):") + "\n"
    }
    let all = BadFile("all", marked)
    let lines = all.complaintsOfReading
    #expect(lines.count == all.places.count && lines.count > 10)
    for (line, place) in zip(lines, all.places) { #expect(line.hasPrefix(place), "\(line)") }
  }

  @Test("A hundred errors are named, and then that there are more")
  func many() {
    let file = BadFile("many", (0..<5_000).map { "key-\($0): 1\n" }.joined())
    let lines = file.complaintsOfReading
    #expect(lines.count == 101)
    #expect(lines.first?.hasPrefix("touchstone.yaml:1:1: ") == true)
    #expect(lines.last == "touchstone.yaml: and more")
  }

  /// Marks stand before what is wrong.
  private static let wrong: [BadFile] = [
    BadFile("nothing but a word", "‸policies", "must be a mapping"),
    BadFile("a list", "‸- a\n- list", "must be a mapping"),
    BadFile("not YAML", "policies: {\n‸", "expected"),
    BadFile("a tab", "policies:\n‸\tmine: {}", "cannot start any token"),
    BadFile("an alias", "issuer: ‸*other", "anchors and aliases"),
    BadFile("two documents", "listen: 127.0.0.1:0\n‸---\nshards: 1", "one document"),
    BadFile("an unknown setting", "‸colour: red", "\"colour\" is not a setting of the configuration"),
    BadFile("a slip", "‸polices: {}", "did you mean \"policies\"?"),
    BadFile("a demand of no kind", "applications: {shop: {attestation: ‸perhaps}}", "attestation must be"),
    BadFile(
      "a part of a secret as a key", "log: {‸p=1$c2VjcmV0$x: info}", "a text that is no name is not a setting of log"),
    BadFile("a setting twice", "shards: 1\n‸shards: 2", "\"shards\" appears twice"),
    BadFile("an address", "listen: ‸nowhere", "listen must be HOST:PORT"),
    BadFile("a log's level", "log: {level: ‸inform}", "log.level must be one of trace, debug, info, notice, warning,"),
    BadFile(
      "a setting of the log", "log: {‸lvel: info}", "\"lvel\" is not a setting of log (did you mean \"level\"?)"),
    BadFile("a log that is a word", "log: ‸json", "log must be a mapping of settings"),
    BadFile("no collector", "traces: ‸{sample: 1}", "traces needs endpoint, the collector's HOST:PORT"),
    BadFile(
      "a collector's port", "traces: {endpoint: ‸\"collector:0\"}", "traces.endpoint must name the collector's port"),
    BadFile("a list of them", "http: ‸[127.0.0.1:1]", "http must be a text"),
    BadFile("a part of HTTP", "http: {‸private: 127.0.0.1:1}", "\"private\" is not a setting of http"),
    BadFile(
      "passkeys without a name", "‸console: {sign_in: passkey}",
      "console.sign_in passkey needs console_url with a host's"),
    BadFile(
      "passkeys of an address", "console_url: http://127.0.0.1:1/console\n‸console: {sign_in: passkey}",
      "console.sign_in passkey needs console_url with a host's"),
    BadFile("no part", "http: ‸{}", "http needs an address, or one under public or operators"),
    BadFile(
      "one for both parts", "http: {public: \"[::]:1\", operators: ‸\"[::]:1\"}",
      "http.operators is the address of http.public: give it another one"),
    BadFile("an empty directory", "data_dir: ‸\"\"", "data_dir must be 1 to"),
    BadFile("shards", "shards: ‸0", "shards must be 1 to 256"),
    BadFile("shards by word", "shards: ‸all", "shards must be a whole number"),
    BadFile("policies that are a list", "policies: ‸[]", "policies must be a mapping"),
    BadFile("policies that are none", "policies:‸", "policies must be a mapping"),
    BadFile("a policy that is none", "policies:\n  mine: ‸biometry", "\"mine\" must be a mapping"),
    BadFile("a policy of nothing", "policies:\n  ‸‸mine: {}", "purpose is required", "factors is required"),
    BadFile(
      "a policy twice",
      "policies:\n  mine: {purpose: login, factors: [biometry]}\n  ‸mine: {purpose: login, factors: [biometry]}",
      "\"mine\" appears twice"),
    BadFile(
      "a built-in name", "policies:\n  ‸login: {purpose: login, factors: [biometry]}", "name of a built-in policy"),
    .policy(
      "a slip in a policy", "    ‸attemps: 3", "\"attemps\" is not a setting of \"mine\" (did you mean \"attempts\"?)"),
    BadFile("a purpose", "policies:\n  mine: {purpose: ‸pay, factors: [biometry]}", "login, payment"),
    BadFile(
      "a factor", "policies:\n  mine: {purpose: login, factors: [biometry, ‸device-owner]}",
      "not \"device-owner\" (did you mean \"device_owner\"?)"),
    BadFile(
      "a factor that is a list", "policies:\n  mine: {purpose: login, factors: [‸[biometry]]}",
      "a factor must be one of"),
    BadFile(
      "a factor behind primary",
      "policies:\n  mine:\n    purpose: login\n    factors:\n      - primary\n      - ‸device_owner",
      "factors[1] device_owner comes after primary"),
    BadFile(
      "factors that cannot pay", "policies:\n  mine: {purpose: payment, factors: [biometry, ‸passcode, ‸gesture]}",
      "passcode cannot pay", "gesture cannot pay"),
    .policy("a number by word", "    attempts: ‸three", "attempts must be a whole number"),
    .policy("a number beyond all", "    attempts: ‸99999999999999999999", "attempts must be a whole number"),
    .policy("a time without unit", "    evaluation_lifetime: ‸120", "must be a time such as 30s, 5m or 1h"),
    .policy("a version", "    minimum_os: ‸eleven", "must be a version"),
    .policy(
      "a ladder that falls", "    ladder:\n      - {failures: 5, lock: 1m}\n      - {failures: ‸4, lock: ‸30s}",
      "ladder[1].failures must be more than the 5", "ladder[1].lock is shorter than an earlier lock (1m)"),
    .policy("a rung that is none", "    ladder: [‸5]", "a rung must be a mapping"),
    .policy(
      "a slip in a rung", "    ladder: [{failures: 5, lock: 1m, ‸disabled: true}]",
      "not a setting of a rung (did you mean \"disable\"?)"),
    BadFile(
      "a ladder for nobody",
      "policies:\n  mine:\n    purpose: login\n    factors: [biometry]\n    ‸ladder:\n      - {failures: 5, lock: 1m}",
      "ladder has no effect: it concerns passcode or gesture"),
    BadFile(
      "a payment twice", "policies:\n  mine: {purpose: payment, factors: [biometry], token: {single_use: ‸false}}",
      "token.single_use cannot be false for payments"),
    .policy("a token of another kind", "    token: ‸5m", "token must be none, or a mapping of lifetime, single_use"),
    .policy(
      "a token that lives for no time", "    token: {lifetime: ‸none, single_use: true}", "lifetime must be a time"),
    .policy("a token by word", "    token: {single_use: ‸yes}", "single_use must be one of true, false"),
    .policy(
      "a button that is never drawn", "    fallback: automatic\n    fallback_title: ‸Passcode",
      "fallback_title is never shown"),
  ]
}
