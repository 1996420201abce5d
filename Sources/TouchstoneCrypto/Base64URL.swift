// base64url without padding (RFC 4648 section 5), as JWS demands it (RFC 7515 section 2).

/// Every byte string has exactly one encoding, and only that one decodes.
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` for padding, white space, the standard alphabet's `+` and `/`, a length that no encoding has, and unused bits
  /// that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    decode(Array(text.utf8)[...])
  }

  static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    text.reserveCapacity(text.count + encodedCount(bytes.count))
    let alphabet = alphabet
    var index = 0
    while index + 2 < bytes.count {
      let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      text.append(alphabet[group >> 18])
      text.append(alphabet[group >> 12 & 0x3f])
      text.append(alphabet[group >> 6 & 0x3f])
      text.append(alphabet[group & 0x3f])
      index += 3
    }
    guard index < bytes.count else { return }
    let hasTwo = index + 1 < bytes.count
    let group = Int(bytes[index]) << 16 | (hasTwo ? Int(bytes[index + 1]) << 8 : 0)
    text.append(alphabet[group >> 18])
    text.append(alphabet[group >> 12 & 0x3f])
    if hasTwo { text.append(alphabet[group >> 6 & 0x3f]) }
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
