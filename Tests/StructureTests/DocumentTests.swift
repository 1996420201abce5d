// The pages for readers: they can be found, their links lead somewhere, and there are not more of them than one reads.

import Foundation
import Testing

/// A page in Markdown, as far as its links need it.
struct Document {
  /// What stands behind `](`, up to the next parenthesis.
  private(set) var links: [String] = []
  /// What a link names after `#`.
  private(set) var anchors: Set<String> = []

  init(text: String) {
    var isCode = false
    for line in text.split(separator: "\n") {
      if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
      guard !isCode else { continue }
      if line.hasPrefix("#") { anchors.insert(Self.anchor(of: line.drop { $0 == "#" || $0 == " " })) }
      links += line.components(separatedBy: "](").dropFirst().map { String($0.prefix { $0 != ")" }) }
    }
  }

  /// As the forges make it of a heading.
  static func anchor(of heading: Substring) -> String {
    String(
      heading.lowercased().compactMap { character in
        if character == " " { return "-" }
        return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
      })
  }
}

@Suite("Documents")
struct DocumentTests {
  /// `Protos/generate_api.py` makes it, and a test of its own reads it.
  private static let generated = "docs/API.md"

  private static func pages() throws -> [String] {
    try PackageTree.entries(of: "docs").filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
  }

  @Test("Every page of the docs can be found from the README")
  func findable() throws {
    let text = try PackageTree.text(of: "README.md")
    for page in try Self.pages() { #expect(text.contains("[\(page.dropFirst(5))](\(page))"), "\(page)") }
  }

  @Test("There are at most 22 pages beside the generated one, and 3,800 lines in all")
  func size() throws {
    let pages = try Self.pages().filter { $0 != Self.generated }
    let lines = try pages.map { try PackageTree.text(of: $0).count { $0 == "\n" } }.reduce(0, +)
    #expect(pages.count <= 22 && lines <= 3_800, "\(pages.count) pages, \(lines) lines")
  }

  @Test("Every link leads to a file, and to a heading if it names one")
  func links() throws {
    let clients =
      ["python", "go", "java", "node"].map { "clients/\($0)/README.md" }
      + ["ios", "android", "web"].map { "kits/\($0)/README.md" }
    let sources = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] + clients + (try Self.pages())
    var documents: [URL: Document] = [:]
    func document(_ file: URL) throws -> Document {
      let document = try documents[file] ?? Document(text: String(contentsOf: file, encoding: .utf8))
      documents[file] = document
      return document
    }
    for source in sources where source != Self.generated {
      let page = PackageTree.root.appending(path: source)
      for link in try document(page).links where !link.contains("://") {
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let file = parts[0].isEmpty ? page : page.deletingLastPathComponent().appending(path: parts[0]).standardized
        let exists = FileManager.default.fileExists(atPath: file.path())
        #expect(exists, "\(source): \(link)")
        guard exists, parts.count == 2 else { continue }
        #expect(try document(file).anchors.contains(String(parts[1])), "\(source): \(link)")
      }
    }
  }

  @Test("Links and headings are found in a text, and none in code")
  func reading() {
    let document = Document(text: "# A `b`, C-d!\n[x](y.md#z) and [v](#w)\n```\n# No\n[Int](n)\n```\n")
    #expect(document.links == ["y.md#z", "#w"] && document.anchors == ["a-b-c-d"])
  }
}
