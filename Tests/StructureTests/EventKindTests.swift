// The table of kinds of events, beside the code that writes them and the places that tell of them.

import Foundation
import Testing

@Suite("Kinds of events")
struct EventKindTests {
  private static let table = Result { () throws -> Set<String> in
    try kinds(in: PackageTree.text(of: "Sources/Service/TouchstoneService/Records/EventKinds.swift"))
  }

  /// The texts in quotes that are two words with a point, in lower case.
  private static func kinds(in source: String) -> Set<String> {
    Set(source.matches(of: #/"([a-z]+\.[a-z_]+)"/#).map { String($0.output.1) })
  }

  @Test("Each kind that the code writes is in the table, and no other is")
  func written() throws {
    let table = try Self.table.get()
    let groups = Set(table.map { $0.prefix { $0 != "." } })
    var written: Set<String> = []
    for top in [
      "Sources/Core/TouchstoneStore", "Sources/Service/TouchstoneService", "Sources/Service/TouchstoneServer",
    ] {
      let root = PackageTree.root.appending(path: top).path()
      for file in try FileManager.default.subpathsOfDirectory(atPath: root)
      // A setting's path, such as "backup.to", looks like a kind.
      where file.hasSuffix(".swift") && !file.hasSuffix("EventKinds.swift") && !file.hasPrefix("Configuration/") {
        let code = try PackageTree.text(of: "\(top)/\(file)").split(separator: "\n")
          .filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
        written.formUnion(Self.kinds(in: code).filter { kind in groups.contains(kind.prefix { $0 != "." }) })
      }
    }
    #expect(written == table)
  }

  @Test("The console has a text for each")
  func texts() throws {
    for language in ["en", "zh-Hans"] {
      let text = try PackageTree.text(of: "Sources/Service/TouchstoneConsole/Texts/Languages/\(language).txt")
      let named = text.matches(of: #/event\.([a-z]+\.[a-z_]+) = /#).map { String($0.output.1) }
      #expect(try Set(named) == Self.table.get())
    }
  }

  @Test("The API's comment names each")
  func comment() throws {
    let proto = try PackageTree.text(of: "Protos/touchstone/v1/types.proto")
    for kind in try Self.table.get() {
      let word = kind.drop { $0 != "." }
      #expect(proto.contains(kind) || proto.contains(" \(word)"), "\(kind)")
    }
  }
}
