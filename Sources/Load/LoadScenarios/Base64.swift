// base64url without padding (RFC 7515, section 2). The service's own lies beside its hashes of passcodes, which no client needs.

enum Base64 {
  private static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  /// The six bits of each character; 255: it is not in the alphabet.
  private static let sextets: [UInt8] = {
    var sextets = [UInt8](repeating: 255, count: 256)
    for (value, character) in alphabet.utf8.enumerated() { sextets[Int(character)] = UInt8(value) }
    return sextets
  }()

  static func encode(_ bytes: [UInt8]) -> String {
    let alphabet = Array(alphabet.utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0...group.count { text.append(alphabet[bits >> (18 - 6 * place) & 0x3F]) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    let sextets = sextets
    var isValid = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { buffer, count in
      var pending: UInt32 = 0
      var bits: UInt32 = 0
      for character in text {
        let value = sextets[Int(character)]
        guard value != 255 else {
          isValid = false
          return
        }
        pending = pending << 6 | UInt32(value)
        bits += 6
        guard bits >= 8 else { continue }
        bits -= 8
        buffer[count] = UInt8(truncatingIfNeeded: pending >> bits)
        count += 1
      }
      isValid = pending & (1 << bits - 1) == 0
    }
    return isValid ? bytes : nil
  }
}
