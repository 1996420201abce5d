/// The defect in the bytes of a string field, which is UTF-8 by RFC 3629, without NUL. protobuf-c checks neither.
enum TextDefect {
  /// protobuf-c returns C strings: "admin\0x" would arrive as "admin".
  case nul
  /// Truncated or overlong sequences, surrogates, code points beyond U+10FFFF.
  case invalidUTF8

  /// `nil` if there is no defect.
  init?(in text: UnsafeRawBufferPointer) {
    var position = 0
    while let unusual = Self.firstUnusual(in: text, from: position) {
      if text[unusual] == 0 {
        self = .nul
        return
      }
      guard let length = Self.sequenceLength(in: text, at: unusual) else {
        self = .invalidUTF8
        return
      }
      position = unusual + length
    }
    return nil
  }

  /// The first byte that is NUL or not ASCII.
  private static func firstUnusual(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var position = start
    while text.count - position >= 8 {
      let word = text.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      // A byte's high bit is set if it was set before, or if subtracting one borrowed: from 0.
      if (word | (word &- 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080 != 0 { break }
      position += 8
    }
    while position < text.count {
      if text[position] == 0 || text[position] >= 0x80 { return position }
      position += 1
    }
    return nil
  }

  /// Bytes of the multi-byte sequence that begins here; `nil` if none does. The Unicode Standard's table 3-7.
  private static func sequenceLength(in text: UnsafeRawBufferPointer, at start: Int) -> Int? {
    let (length, second): (Int, ClosedRange<UInt8>)
    switch text[start] {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return nil
    }
    guard text.count - start >= length, second.contains(text[start + 1]) else { return nil }
    let rest = text[(start + 2)..<(start + length)]
    return rest.allSatisfy { (0x80...0xBF).contains($0) } ? length : nil
  }
}
