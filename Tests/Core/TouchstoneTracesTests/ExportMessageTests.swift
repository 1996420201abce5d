// The bytes for the collector, and its answer. A collector's own library reads them in Tests/Acceptance/test_traces.py.

import Testing

@testable import TouchstoneTraces

@Suite("The collector's messages")
struct ExportMessageTests {
  @Test("Field by field")
  func bytes() throws {
    let (trace, id, parent) = (
      try #require(TraceID(high: 1, low: 2)), try #require(SpanID(3)), try #require(SpanID(4))
    )
    var call = TracedCall(traceID: trace, id: id, parent: parent, name: "S/M", begin: 5)
    call.end = 6
    call.state = "a=b"
    call.isFailure = true
    call.attributes = [.init("k", .number(300))]
    let span: [UInt8] =
      [0x0A, 16] + [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 7) + [2]
      + [0x12, 8, 0, 0, 0, 0, 0, 0, 0, 3]
      + [0x1A, 3] + Array("a=b".utf8)
      + [0x22, 8, 0, 0, 0, 0, 0, 0, 0, 4]
      + [0x2A, 3] + Array("S/M".utf8)
      + [0x30, 2]
      + [0x39, 5, 0, 0, 0, 0, 0, 0, 0]
      + [0x41, 6, 0, 0, 0, 0, 0, 0, 0]
      + [0x4A, 8, 0x0A, 1, UInt8(ascii: "k"), 0x12, 3, 0x18, 0xAC, 2]
      + [0x7A, 2, 0x18, 2]
      + [0x85, 1, 1, 3, 0, 0]
    let scope: [UInt8] = [0x0A, 12, 0x0A, 10] + Array("touchstone".utf8)
    let scoped = scope + [0x12, UInt8(span.count)] + span
    let spans: [UInt8] = [0x0A, 0, 0x12, UInt8(scoped.count & 0x7F) | 0x80, UInt8(scoped.count >> 7)] + scoped
    let expected: [UInt8] =
      scoped.count < 128
      ? [0x0A, UInt8(scoped.count + 4), 0x0A, 0, 0x12, UInt8(scoped.count)] + scoped
      : [0x0A, UInt8(spans.count & 0x7F) | 0x80, UInt8(spans.count >> 7)] + spans
    #expect(ExportMessage.bytes([call], of: []) == expected)
  }

  @Test("What the collector did not take; a malformed answer is no number")
  func answers() {
    #expect(ExportMessage.rejectedSpans(in: []) == 0)
    #expect(ExportMessage.rejectedSpans(in: [0x0A, 3, 0x08, 0xAC, 2]) == 300)
    // error_message before it, and a field of a later version.
    #expect(ExportMessage.rejectedSpans(in: [0x10, 1, 0x0A, 5, 0x12, 1, 0x78, 0x08, 7]) == 7)
    // A negative number.
    #expect(ExportMessage.rejectedSpans(in: [0x0A, 11, 0x08] + [UInt8](repeating: 0xFF, count: 9) + [1]) == 0)
    for malformed: [UInt8] in [
      [0x0A], [0x0A, 9], [0x0A, 1, 0x08], [0x0B], [0x09, 1],
      [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1],
      [UInt8](repeating: 0xFF, count: 40),
    ] {
      #expect(ExportMessage.rejectedSpans(in: malformed) == 0)
    }
  }
}
