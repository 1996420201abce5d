// What every comment keeps to: its width, a subject, and the words of today's design.

import Foundation
import Testing

@Suite("Comments")
struct CommentTests {
  /// A line of source that is a comment.
  private struct Comment: CustomStringConvertible {
    let file: String
    let number: Int
    let text: Substring

    var description: String { "\(file):\(number): \(text)" }
  }

  /// As wide as code.
  private static let greatestWidth = 120
  /// Types and terms that are gone.
  private static let wordsOfOldDesigns = ["SecretGate", "StoreTurns", "SecretCheckRound", "visitor"]

  private static let comments = Result { try readComments() }

  private static func readComments() throws -> [Comment] {
    try ["Sources", "Tests", "kits"].flatMap { top in
      let root = PackageTree.root.appending(path: top).path()
      let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
      return try files.filter { !$0.contains("/Generated/") && !$0.hasSuffix("CommentTests.swift") }.flatMap { file in
        try PackageTree.text(of: "\(top)/\(file)").split(separator: "\n", omittingEmptySubsequences: false).enumerated()
          .filter { $0.element.drop { $0 == " " }.hasPrefix("//") }
          .map { Comment(file: "\(top)/\(file)", number: $0.offset + 1, text: $0.element) }
      }
    }
  }

  @Test("No comment is wider than code")
  func width() throws {
    let wide = try Self.comments.get().filter { $0.text.count > Self.greatestWidth }
    #expect(wide.isEmpty, "\(wide)")
  }

  @Test("The first line names its subject")
  func subjects() throws {
    let fragments = try Self.comments.get().filter { $0.text.contains(#/\/\/\/ (Those|That|Of|By which)\b/#) }
    #expect(fragments.isEmpty, "\(fragments)")
  }

  @Test("No comment speaks of a design that is gone")
  func words() throws {
    let outdated = try Self.comments.get().filter { comment in
      Self.wordsOfOldDesigns.contains { comment.text.contains($0) }
    }
    #expect(outdated.isEmpty, "\(outdated)")
  }
}
