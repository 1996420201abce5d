// The header `traceparent` of W3C Trace Context. Pure.

internal import Encodings

/// A call's place in its trace, as the caller sends it.
package struct TraceContext: Hashable, Sendable {
  package static let header = "traceparent"
  package static let stateHeader = "tracestate"
  /// A longer `tracestate` is not passed on (Trace Context §3.3.1.5 lets it be discarded beyond this).
  package static let maximumStateBytes = 512

  package var traceID: TraceID
  /// The caller's span.
  package var spanID: SpanID
  /// The caller keeps the trace, and would have this part of it.
  package var isSampled: Bool

  package init(traceID: TraceID, spanID: SpanID, isSampled: Bool) {
    (self.traceID, self.spanID, self.isSampled) = (traceID, spanID, isSampled)
  }

  /// "00-", 32 digits of the trace, "-", 16 of the span, "-", two of flags.
  private static let byteCount = 55
  private static let dash = UInt8(ascii: "-")

  /// `nil`: it is malformed, and counts as absent. A later version may go on behind the flags.
  package init?(traceparent text: String) {
    var text = text
    let context = text.withUTF8 { Self(bytes: $0) }
    guard let context else { return nil }
    self = context
  }

  private init?(bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count >= Self.byteCount, bytes[2] == Self.dash, bytes[35] == Self.dash, bytes[52] == Self.dash,
      let version = Hexadecimal.number(bytes[0..<2]), version != 0xFF,
      version == 0
        ? bytes.count == Self.byteCount : bytes.count == Self.byteCount || bytes[Self.byteCount] == Self.dash,
      let high = Hexadecimal.number(bytes[3..<19]), let low = Hexadecimal.number(bytes[19..<35]),
      let span = Hexadecimal.number(bytes[36..<52]), let flags = Hexadecimal.number(bytes[53..<55]),
      let traceID = TraceID(high: high, low: low), let spanID = SpanID(span)
    else { return nil }
    self.init(traceID: traceID, spanID: spanID, isSampled: flags & 1 != 0)
  }

  /// The header's value.
  package var traceparent: String { "00-\(traceID)-\(spanID)-0\(isSampled ? 1 : 0)" }
}
