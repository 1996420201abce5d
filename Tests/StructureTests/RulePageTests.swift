// docs/RULES.md is where a reader finds the code of a rule, so it must list each rule that the sources cite.

import Foundation
import Testing

/// The page, as far as tests need it.
struct RulePage {
  /// In their order: from the headings `### R12 A success clears its own failures`.
  private(set) var numbers: [Int] = []
  /// The functions that the page links, such as `` [`Conditions.denial`](../Sources/Conditions.swift) ``.
  private(set) var functions: [Function] = []
  /// The prose of each rule, without its lines Code and Tests. A heading `####` begins another part.
  private(set) var parts: [Part] = []

  struct Function: Hashable {
    let rule: Int
    let type: String
    let member: String
    let path: String
  }

  struct Part: Hashable {
    /// Where the page becomes a wall.
    static let longest = 900

    let heading: String
    var prose = ""
  }

  init(text: String) {
    var isProse = false
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#") {
        let rule = line.prefixMatch(of: #/### R(\d+) \S/#)
        if let rule { numbers.append(Int(rule.1) ?? 0) }
        isProse = rule != nil || line.hasPrefix("#### ")
        if isProse { parts.append(Part(heading: String(line))) }
      } else if line.hasPrefix("- **") {
        isProse = false
      } else if isProse {
        parts[parts.count - 1].prose += line + "\n"
      }
      for link in line.matches(of: #/\[([^\]]+)\]\(\.\.\/([^)]+)\)/#) {
        guard let name = link.1.wholeMatch(of: #/`(\w+)\.(\w+)`/#) else { continue }
        functions.append(
          Function(rule: numbers.last ?? 0, type: String(name.1), member: String(name.2), path: String(link.2)))
      }
    }
  }
}

/// What a Swift file declares, as far as a line tells.
struct Declarations {
  private(set) var types: Set<Substring> = []
  private(set) var members: Set<Substring> = []

  init(source: String) {
    for line in source.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
      let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
      if words.contains("init") { members.insert("init") }
      for (keyword, name) in zip(words, words.dropFirst()) {
        switch keyword {
        case "struct", "enum", "class", "actor", "protocol", "extension": types.insert(name)
        case "func", "var", "let", "case": members.insert(name)
        default: break
        }
      }
    }
  }
}

enum RuleCitations {
  /// The numbers of rules that a text cites: `R7`, but not `R07`, `XR7` or `R7a`.
  ///
  /// By hand, for a regular expression takes half a minute for all sources in a debug build.
  static func numbers(in text: String) -> Set<Int> {
    let bytes = Array(text.utf8)
    var numbers: Set<Int> = []
    for start in bytes.indices where bytes[start] == UInt8(ascii: "R") && !(start > 0 && isWord(bytes[start - 1])) {
      var end = start + 1
      var number = 0
      while end < bytes.count, end <= start + 3, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[end]) {
        number = number * 10 + Int(bytes[end] - UInt8(ascii: "0"))
        end += 1
      }
      let isZeroLed = end > start + 1 && bytes[start + 1] == UInt8(ascii: "0")
      guard number > 0, !isZeroLed, end == bytes.count || !isWord(bytes[end]) else { continue }
      numbers.insert(number)
    }
    return numbers
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Which files below a directory cite a rule, by its number.
  static func files(below directory: String) throws -> [Int: [String]] {
    var files: [Int: [String]] = [:]
    let root = PackageTree.root.appending(path: directory)
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.path())
    where path.hasSuffix(".swift") || path.hasSuffix(".py") || path.hasSuffix(".md") || path.hasSuffix(".proto") {
      let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      for number in numbers(in: text) { files[number, default: []].append("\(directory)/\(path)") }
    }
    return files
  }
}

@Suite("Rules")
struct RulePageTests {
  private static let page = RulePage(
    text: (try? String(contentsOf: PackageTree.root.appending(path: "docs/RULES.md"), encoding: .utf8)) ?? "")

  @Test("The page numbers its rules without gaps")
  func numbers() {
    #expect(!Self.page.numbers.isEmpty)
    #expect(Self.page.numbers == Array(1...max(1, Self.page.numbers.count)))
  }

  @Test(
    "Every rule that code, tests or docs cite is on the page",
    arguments: ["Sources", "Tests", "Protos", "docs", "deploy"])
  func cited(directory: String) throws {
    let unlisted = try RuleCitations.files(below: directory).filter { !Self.page.numbers.contains($0.key) }
    #expect(unlisted.isEmpty)
  }

  @Test("Every rule on the page is cited by a test")
  func tested() throws {
    let citing = try RuleCitations.files(below: "Tests")
    #expect(Self.page.numbers.filter { citing[$0] == nil }.isEmpty)
  }

  @Test("Every rule links a function, and its file declares each function that a rule links")
  func functions() throws {
    let functions = Set(Self.page.functions)
    #expect(Set(functions.map(\.rule)) == Set(Self.page.numbers))
    for (path, linked) in Dictionary(grouping: functions, by: \.path) {
      let declared = Declarations(source: try PackageTree.text(of: path))
      for function in linked {
        #expect(declared.types.contains(function.type[...]), "R\(function.rule): \(function.type), \(path)")
        #expect(
          declared.members.contains(function.member[...]), "R\(function.rule): \(function.type).\(function.member)")
      }
    }
  }

  @Test("No part of a rule is a wall")
  func parts() {
    #expect(Self.page.parts.count > Self.page.numbers.count)
    for part in Self.page.parts { #expect(part.prose.count <= RulePage.Part.longest, "\(part.heading)") }
  }

  @Test("Declarations are found in a source, and no comment counts")
  func declarations() {
    let found = Declarations(source: "// struct C {}\nextension A.B {\n  static func a() {}\n  init?(b: Int) {}\n}\n")
    #expect(found.types == ["A"] && found.members == ["a", "init"])
  }

  @Test("Rules are found in a text, and nothing that only looks like one")
  func reading() {
    #expect(RuleCitations.numbers(in: "R7, (R12) \"R41\" R9–R10 R3/R4") == [7, 12, 41, 9, 10, 3, 4])
    #expect(RuleCitations.numbers(in: "XR7 R07 R7a _R8 R R0 P256R1 R1_ R12x") == [])
    let page = RulePage(
      text: """
        # T
        ### R1 One
        text
        - **Code** [`A.b`](../Sources/A.swift), [b](../Tests/B.md)
        ### R2 Two
        #### Part
        x
        ### Rx
        y

        """)
    #expect(page.numbers == [1, 2])
    #expect(page.functions == [.init(rule: 1, type: "A", member: "b", path: "Sources/A.swift")])
    #expect(page.parts.map(\.prose) == ["text\n", "", "x\n"])
  }
}
