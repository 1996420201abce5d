// The table of families.

import Foundation
import Testing

@testable import TouchstoneMetrics

@Suite("Families")
struct FamilyTests {
  @Test("Each name is there once, ends with its unit, and a counter's with _total")
  func names() {
    let families = MetricFamilies.all
    #expect(Set(families.map(\.name)).count == families.count)
    for family in families {
      #expect(family.name.wholeMatch(of: #/(grpc|touchstone|process)(_[a-z0-9]+)+/#) != nil, "\(family.name)")
      let isCounter = family.kind == .counter
      #expect(family.name.hasSuffix("_total") == isCounter, "\(family.name)")
      let base = isCounter ? family.name.dropLast("_total".count) : family.name[...]
      if family.unit != .none { #expect(base.hasSuffix("_\(family.unitName)"), "\(family.name)") }
      for unit in ["_seconds", "_bytes"] where base.hasSuffix(unit) {
        #expect("_\(family.unitName)" == unit, "\(family.name)")
      }
      #expect(family.help.last == "." && !family.help.contains("\n") && !family.help.contains("|"), "\(family.name)")
    }
  }

  @Test("At least 15 are the service's own, and gRPC's have their standard names")
  func counts() {
    let names = MetricFamilies.all.map(\.name)
    #expect(names.count { $0.hasPrefix("touchstone_") } >= 15)
    #expect(
      names.filter { $0.hasPrefix("grpc_") } == [
        "grpc_server_call_started_total", "grpc_server_call_duration_seconds",
        "grpc_server_call_sent_total_compressed_message_size_bytes",
        "grpc_server_call_rcvd_total_compressed_message_size_bytes",
      ])
  }

  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../docs/METRICS.md").standardized
  private static let marks = ("<!-- families -->\n", "<!-- end of families -->")

  private static var table: String {
    let rows = MetricFamilies.all.map { family in
      let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
      return "| `\(family.name)` | \(family.typeName) | \(labels) | \(family.help) |\n"
    }
    return "| family | type | labels | meaning |\n|---|---|---|---|\n" + rows.joined()
  }

  @Test("docs/METRICS.md has the table as it is; with ACCEPT=1 this test writes it there")
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
