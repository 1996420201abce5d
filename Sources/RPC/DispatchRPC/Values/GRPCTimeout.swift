/// The `grpc-timeout` header: at most eight digits and a unit (PROTOCOL-HTTP2.md, "Timeout").
enum GRPCTimeout {
  /// Beyond it the next unit is exact enough: its rounding adds at most a thousandth. The most hours have seven digits.
  private static let largestExactValue: UInt64 = 999_999

  private static let units: [(character: UInt8, nanoseconds: UInt64)] = [
    (UInt8(ascii: "n"), 1),
    (UInt8(ascii: "u"), 1_000),
    (UInt8(ascii: "m"), 1_000_000),
    (UInt8(ascii: "S"), 1_000_000_000),
    (UInt8(ascii: "M"), 60_000_000_000),
    (UInt8(ascii: "H"), 3_600_000_000_000),
  ]

  /// Nanoseconds, saturating (eight digits of hours are 11,000 years); `nil` when it is not a timeout.
  static func parse(_ value: UnsafeRawBufferPointer) -> UInt64? {
    guard (2...9).contains(value.count), let unit = units.first(where: { $0.character == value[value.count - 1] })
    else { return nil }
    var number: UInt64 = 0
    for byte in value.dropLast() {
      guard (0x30...0x39).contains(byte) else { return nil }
      number = number * 10 + UInt64(byte - 0x30)
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.nanoseconds)
    return overflow ? .max : product
  }

  /// Rounded up: the server must not give up before the client does. Calls that are sent soon after they began then
  /// have the same value, which header compression sends as one byte; a value of its own for each call would be new in
  /// both tables.
  static func write(nanoseconds: UInt64, into output: inout [UInt8]) {
    for (character, unit) in units {
      let number = nanoseconds / unit + (nanoseconds % unit == 0 ? 0 : 1)
      if number <= largestExactValue || unit == units.last?.nanoseconds {
        output.append(contentsOf: String(number).utf8)
        output.append(character)
        return
      }
    }
  }
}
