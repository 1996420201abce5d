// Wire bytes by hand: what a well-behaved encoder would never send.

/// The pieces of a message's bytes.
enum Wire {
  static func varint(_ value: UInt64) -> [UInt8] {
    value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7F) | 0x80] + varint(value >> 7)
  }

  static func key(_ number: UInt64, _ wireType: UInt64) -> [UInt8] {
    varint(number << 3 | wireType)
  }

  static func field(_ number: UInt64, varint value: UInt64) -> [UInt8] {
    key(number, 0) + varint(value)
  }

  /// A string, bytes, a submessage, or packed numbers.
  static func field(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
    key(number, 2) + varint(UInt64(bytes.count)) + bytes
  }

  static func field(_ number: UInt64, _ text: String) -> [UInt8] {
    field(number, Array(text.utf8))
  }
}
