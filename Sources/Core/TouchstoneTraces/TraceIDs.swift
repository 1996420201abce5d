// The ids of traces and spans, as W3C Trace Context has them.

internal import Encodings

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
