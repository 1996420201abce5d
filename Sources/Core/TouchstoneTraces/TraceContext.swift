internal import Encodings

/// A call's place in its trace, as the caller sends it: the header `traceparent` of W3C Trace Context. Pure.
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

/// Sixteen bytes, not all of them zero.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
  package let high: UInt64
  package let low: UInt64

  package init?(high: UInt64, low: UInt64) {
    guard high | low != 0 else { return nil }
    (self.high, self.low) = (high, low)
  }

  /// 32 hexadecimal digits.
  package var description: String { Hexadecimal.text([high, low]) }

  var bytes: [UInt8] { [high, low].flatMap(\.bytes) }
}

/// Eight bytes, not all of them zero.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
  package let number: UInt64

  package init?(_ number: UInt64) {
    guard number != 0 else { return nil }
    self.number = number
  }

  /// 16 hexadecimal digits.
  package var description: String { Hexadecimal.text([number]) }

  var bytes: [UInt8] { number.bytes }
}

/// Makes ids. They are unique and no secrets, so a generator that is seeded once (SplitMix64) does, without a system
/// call for each.
package struct TraceIDGenerator: Sendable {
  private var state: UInt64

  package init(seed: UInt64 = .random(in: .min ... .max)) {
    state = seed
  }

  package mutating func trace() -> TraceID {
    while true {
      if let id = TraceID(high: next(), low: next()) { return id }
    }
  }

  package mutating func span() -> SpanID {
    while true {
      if let id = SpanID(next()) { return id }
    }
  }

  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension UInt64 {
  fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
