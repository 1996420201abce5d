// The scanner finds what it should: a test of arrows that cannot fail is worth nothing.

import Testing

@Suite("Import scanner")
struct ImportScannerTests {
  @Test(
    "Every way to write an import",
    arguments: [
      "import TouchstoneCodec",
      "  import TouchstoneCodec  // indented, with a comment",
      "public import TouchstoneCodec",
      "package import TouchstoneCodec",
      "@testable import TouchstoneCodec",
      "@preconcurrency internal import TouchstoneCodec",
      "@_spi(Tests) @testable import TouchstoneCodec",
      "import struct TouchstoneCodec.MessageCoder",
      "import TouchstoneCodec.MessageCoder",
      "let a = 1; import TouchstoneCodec",
      "/* why */ import TouchstoneCodec",
      "#if os(Linux)\nimport TouchstoneCodec\n#endif",
    ])
  func spelling(source: String) {
    #expect(ImportScanner.imports(in: source).map(\.module) == ["TouchstoneCodec"])
  }

  @Test(
    "What only looks like one",
    arguments: [
      "// import TouchstoneCodec",
      "/* first\nimport TouchstoneCodec\n*/",
      "/* outer /* inner */\nimport TouchstoneCodec\n*/",
      "let text = \"\"\"\n  import TouchstoneCodec\n  \"\"\"",
      "let importTouchstoneCodec = 1",
      "importer.import(TouchstoneCodec.self)",
    ])
  func lookalikes(source: String) {
    #expect(ImportScanner.imports(in: source) == [])
  }

  @Test("A forbidden import is named with its file and line")
  func violation() throws {
    let policy = try #require(ArrowTable.row("TouchstonePolicy"))
    let source = """
      // The rules.

      public import TouchstoneCodec
      import Glibc
      """
    #expect(
      ImportScanner.violations(of: policy, file: "Sources/TouchstonePolicy/Rules.swift", source: source) == [
        "Sources/TouchstonePolicy/Rules.swift:3: TouchstonePolicy may not import TouchstoneCodec",
        "Sources/TouchstonePolicy/Rules.swift:4: TouchstonePolicy may not import Glibc",
      ])
  }

  @Test("An allowed one is not")
  func allowed() throws {
    let codec = try #require(ArrowTable.row("TouchstoneCodec"))
    #expect(ImportScanner.violations(of: codec, file: "", source: "internal import CTouchstoneProto").isEmpty)
  }
}
