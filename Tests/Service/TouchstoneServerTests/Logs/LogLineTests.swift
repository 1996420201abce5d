// The form of a log line, which no value can break.

import Logging
import Testing
import TouchstonePolicy

@testable import TouchstoneServer

@Suite("Lines of the log")
struct LogLineTests {
  private static let time = UnixTime(microseconds: 1_763_974_989_123_999)

  private func line(
    _ message: String, _ metadata: Logger.Metadata = [:], _ format: LogSettings.Format, at time: UnixTime = time
  ) -> String {
    String(decoding: LogLine.bytes(message, .info, metadata, at: time, as: format), as: UTF8.self)
  }

  private static let fields: Logger.Metadata = [
    "policy": "login", "duration_ms": .stringConvertible(1.25), "lines": .stringConvertible(3), "why": "two words",
  ]

  @Test("Text: the fields in the order of their names")
  func text() {
    #expect(
      line("evaluation.succeeded", Self.fields, .text)
        == "2025-11-24T09:03:09.123Z info evaluation.succeeded duration_ms=1.25 lines=3 policy=login why=\"two words\"\n"
    )
  }

  @Test("JSON: numbers are numbers")
  func json() {
    #expect(
      line("evaluation.succeeded", Self.fields, .json)
        == #"{"time":"2025-11-24T09:03:09.123Z","level":"info","message":"evaluation.succeeded","#
        + #""duration_ms":1.25,"lines":3,"policy":"login","why":"two words"}"# + "\n")
  }

  @Test("A field never takes the place of the line's own")
  func ownKeys() {
    let line = line("m", ["level": "x", "time": "y", "message": "z"], .json)
    #expect(line.hasSuffix(#""level":"info","message":"m","level_":"x","message_":"z","time_":"y"}"# + "\n"))
  }

  @Test(
    "Marks that nobody sees, or that turn the direction of a line, are escaped", arguments: LogSettings.Format.allCases)
  func unseen(format: LogSettings.Format) {
    let text = line("sh\u{202E}op\u{2028}\u{200B}\u{E0041}ä", [:], format)
    #expect(text.contains(#"sh\u202eop\u2028\u200b\udb40\udc41ä"#))
  }

  @Test("Control characters, of both sets, quotes and backslashes are escaped", arguments: LogSettings.Format.allCases)
  func escaping(format: LogSettings.Format) {
    let text = line("a\nb\u{1B}[31m\u{9B}2J\u{7F}\u{0}", ["k": "\"\\\r\té€😀"], format)
    #expect(text.hasSuffix("\n"))
    #expect(text.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) })
    #expect(text.contains(#"a\nb\u001b[31m\u009b2J\u007f\u0000"#))
    #expect(text.contains(#""\"\\\u000d\té€😀""#))
  }

  @Test("A long value is cut between characters", arguments: ["x", "é", "€", "😀", "\u{1}"])
  func longValue(character: String) {
    let text = line("m", ["k": .string(String(repeating: character, count: 10_000))], .json)
    #expect(text.utf8.count < LogLine.maximumValueBytes + 200)
    #expect(text.hasSuffix("…\"}\n"))
    #expect(!text.contains("\u{FFFD}"))
  }

  @Test("A line with too many fields says that some are missing", arguments: LogSettings.Format.allCases)
  func longLine(format: LogSettings.Format) {
    var metadata: Logger.Metadata = [:]
    for number in 0..<100 { metadata["k\(number)"] = .string(String(repeating: "x", count: 1_000)) }
    let text = line("m", metadata, format)
    #expect(text.utf8.count <= LogLine.maximumBytes)
    #expect(text.contains(format == .json ? "\"truncated\":" : " truncated="))
  }

  @Test(
    "Days of all kinds",
    arguments: [
      (0, "1970-01-01T00:00:00"), (-1, "1969-12-31T23:59:59"), (951_782_399, "2000-02-28T23:59:59"),
      (951_782_400, "2000-02-29T00:00:00"), (951_868_800, "2000-03-01T00:00:00"),
      (4_107_542_399, "2100-02-28T23:59:59"),
      (4_107_542_400, "2100-03-01T00:00:00"), (253_402_300_799, "9999-12-31T23:59:59"),
    ])
  func dates(seconds: Int64, text: String) {
    #expect(line("m", .text, at: UnixTime(seconds: seconds)).hasPrefix("\(text).000Z "))
  }

  private func line(_ message: String, _ format: LogSettings.Format, at time: UnixTime) -> String {
    line(message, [:], format, at: time)
  }
}
