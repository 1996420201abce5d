// Base64 (RFC 4648 §4) as `-bin` metadata use it: written without padding, read with or without.

enum Base64 {
  static func encode(_ bytes: some Collection<UInt8>, into output: inout [UInt8]) {
    output.reserveCapacity(output.count + encodedBytes(bytes.count))
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        output.append(character(UInt8(truncatingIfNeeded: buffer >> bits) & 0x3F))
      }
    }
    if bits > 0 {
      output.append(character(UInt8(truncatingIfNeeded: buffer << (6 - bits)) & 0x3F))
    }
  }

  static func encodedBytes(_ count: Int) -> Int { (count * 4 + 2) / 3 }

  /// `nil` for a character outside the alphabet, an impossible length, or padding that does not fit. Unused bits of the
  /// last character must be zero, so that every value has one spelling.
  static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let digits = withoutPadding(text), digits.count % 4 != 1 else { return nil }
    var output: [UInt8] = []
    output.reserveCapacity(digits.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for byte in digits {
      guard let digit = digit(byte) else { return nil }
      buffer = buffer << 6 | UInt32(digit)
      bits += 6
      if bits >= 8 {
        bits -= 8
        output.append(UInt8(truncatingIfNeeded: buffer >> bits))
      }
    }
    guard buffer & (1 << bits - 1) == 0 else { return nil }
    return output
  }

  private static func withoutPadding(_ text: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding == 0 || (padding <= 2 && text.count % 4 == 0) else { return nil }
    return text.dropLast(padding)
  }

  private static func character(_ digit: UInt8) -> UInt8 {
    switch digit {
    case 0..<26: UInt8(ascii: "A") + digit
    case 26..<52: UInt8(ascii: "a") + digit - 26
    case 52..<62: UInt8(ascii: "0") + digit - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
