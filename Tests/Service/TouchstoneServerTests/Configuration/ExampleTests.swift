// deploy/touchstone.example.yaml is where a setting is looked up, so it must have each of them.

import TestSupport
import Testing

@testable import TouchstoneServer

@Suite("The example of a configuration")
struct ExampleTests {
  private static let path = {
    let root = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
    return "/\(root)/deploy/touchstone.example.yaml"
  }()

  private static let sections: [(name: String, keys: [String])] = [
    ("the configuration", ProcessConfiguration.Key.allCases.map(\.rawValue)),
    ("tls", TLSSettings.Key.allCases.map(\.rawValue)),
    ("http", HTTPPart.allCases.map(\.rawValue)),
    ("attestation", AttestationFiles.Key.allCases.map(\.rawValue)),
    ("attestation.roots", AttestationFiles.FileKey.allCases.map(\.rawValue)),
    ("attestation.revoked", AttestationFiles.FileKey.allCases.map(\.rawValue)),
    ("attestation.metadata", AttestationFiles.FileKey.allCases.map(\.rawValue)),
    ("callers", CallerSection.Key.allCases.map(\.rawValue)),
    ("operators", OperatorSection.Key.allCases.map(\.rawValue)),
    ("limits", LimitSettings.Key.allCases.map(\.rawValue)),
    ("retention", RetentionSettings.Key.allCases.map(\.rawValue)),
  ]

  @Test("Every setting stands in it, by its name and a colon", arguments: sections.map(\.name))
  func completeness(section: String) throws {
    let words = Set(try File.text(Self.path).split { !($0.isLetter || $0 == "_" || $0 == ":") })
    let keys = try #require(Self.sections.first { $0.name == section }).keys
    #expect(keys.filter { !words.contains("\($0):") } == [])
  }

  @Test("It is right")
  func reading() throws {
    _ = try ProcessConfiguration.parse(try File.read(Self.path), of: Self.path)
  }
}
