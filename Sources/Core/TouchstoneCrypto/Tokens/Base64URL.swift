// base64url without padding (RFC 4648 section 5), as JWS requires it (RFC 7515 section 2).

/// Every byte string has exactly one encoding, and only that one decodes.
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` for padding, white space, the standard alphabet's `+` and `/`, an impossible length, and unused bits that
  /// are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    decode(Array(text.utf8)[...])
  }

  static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    let start = text.count
    text.append(contentsOf: repeatElement(0, count: encodedCount(bytes.count)))
    text.withUnsafeMutableBufferPointer { text in
      bytes.withUnsafeBufferPointer { encode($0, into: UnsafeMutableBufferPointer(rebasing: text[start...])) }
    }
  }

  /// - Parameter text: as long as the encoding.
  private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>) {
    let alphabet = alphabet
    /// The first `count` characters of three bytes.
    func write(_ group: Int, _ count: Int, at position: Int) {
      for index in 0..<count { text[position + index] = alphabet[group >> (18 - 6 * index) & 0x3f] }
    }
    var (index, position) = (0, 0)
    while index + 2 < bytes.count {
      write(Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2]), 4, at: position)
      index += 3
      position += 4
    }
    switch bytes.count - index {
    case 2: write(Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8, 3, at: position)
    case 1: write(Int(bytes[index]) << 16, 2, at: position)
    default: break
    }
  }

  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    let sextets = sextets
    var pending: UInt32 = 0
    var pendingBits: UInt32 = 0
    for character in text {
      let value = sextets[Int(character)]
      guard value != invalid else { return nil }
      pending = pending << 6 | UInt32(value)
      pendingBits += 6
      if pendingBits >= 8 {
        pendingBits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> pendingBits))
      }
    }
    let unused = pending & ((1 << pendingBits) - 1)
    return unused == 0 ? bytes : nil
  }

  static func encodedCount(_ byteCount: Int) -> Int {
    (byteCount * 4 + 2) / 3
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  private static let invalid: UInt8 = 0xff

  /// The value of each character; `invalid` outside of the alphabet.
  private static let sextets: [UInt8] = {
    var table = [UInt8](repeating: invalid, count: 256)
    for (value, character) in alphabet.enumerated() {
      table[Int(character)] = UInt8(value)
    }
    return table
  }()
}
