// Text as a string field may hold it: UTF-8 by RFC 3629, without NUL. protobuf-c checks neither.

/// What is wrong with the bytes of a string field.
enum TextDefect {
  /// protobuf-c hands out C strings: "admin\0x" would arrive as "admin".
  case nul
  /// Truncated or overlong sequences, surrogates, code points beyond U+10FFFF.
  case invalidUTF8

  /// `nil` where nothing is.
  init?(in text: UnsafeRawBufferPointer) {
    guard let start = text.baseAddress else { return nil }
    var rest = UnsafeRawBufferPointer(start: start, count: text.count)[...]
    while let position = Self.firstUnusual(in: rest) {
      if text[position] == 0 {
        self = .nul
        return
      }
      guard let length = Self.sequenceLength(text[position...]) else {
        self = .invalidUTF8
        return
      }
      rest = rest[(position + length)...]
    }
    return nil
  }

  /// The first byte that is NUL or not ASCII, found eight at a time.
  private static func firstUnusual(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    let highBits: UInt64 = 0x8080_8080_8080_8080
    let lowBits: UInt64 = 0x0101_0101_0101_0101
    let bytes = text.base
    var position = text.startIndex
    while text.endIndex - position >= 8 {
      let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      // A byte's high bit is set if it was set before, or if taking one from it borrowed: from 0.
      if (word | (word &- lowBits)) & highBits != 0 { break }
      position += 8
    }
    return (position..<text.endIndex).first { bytes[$0] == 0 || bytes[$0] >= 0x80 }
  }

  /// Bytes of the multi-byte sequence at the front; `nil` where it is none. The Unicode Standard's table 3-7.
  private static func sequenceLength(_ text: Slice<UnsafeRawBufferPointer>) -> Int? {
    let lead = text.base[text.startIndex]
    let (length, second): (Int, ClosedRange<UInt8>)
    switch lead {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard text.count >= length, second.contains(text.base[text.startIndex + 1]) else { return nil }
    let rest = text.base[(text.startIndex + 2)..<(text.startIndex + length)]
    return rest.allSatisfy { (0x80...0xBF).contains($0) } ? length : nil
  }
}
