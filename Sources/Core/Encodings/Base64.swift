// Base64 (RFC 4648): the standard alphabet and the one for URLs.

/// An alphabet of 64 characters. Every byte string has exactly one encoding in it, and only that one decodes.
private struct Alphabet: Sendable {
  let characters: [UInt8]
  /// The value of each character; `invalid` outside of the alphabet.
  let sextets: [UInt8]

  static let invalid: UInt8 = 0xff

  init(last: String) {
    characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(last)".utf8)
    var sextets = [UInt8](repeating: Self.invalid, count: 256)
    for (value, character) in characters.enumerated() { sextets[Int(character)] = UInt8(value) }
    self.sextets = sextets
  }

  func append(_ bytes: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
    let start = text.count
    text.append(contentsOf: repeatElement(0, count: Base64.encodedCount(bytes.count)))
    text.withUnsafeMutableBufferPointer {
      encode(bytes, into: UnsafeMutableBufferPointer(rebasing: $0[start...]))
    }
  }

  /// - Parameter text: as long as the encoding.
  private func encode(_ bytes: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>) {
    let characters = characters
    /// The first `count` characters of three bytes.
    func write(_ group: Int, _ count: Int, at position: Int) {
      for index in 0..<count { text[position + index] = characters[group >> (18 - 6 * index) & 0x3f] }
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

  /// Without padding.
  func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    let sextets = sextets
    var isValid = true
    let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { bytes, count in
      var pending: UInt32 = 0
      var pendingBits: UInt32 = 0
      for character in text {
        let value = sextets[Int(character)]
        guard value != Self.invalid else {
          isValid = false
          return
        }
        pending = pending << 6 | UInt32(value)
        pendingBits += 6
        guard pendingBits >= 8 else { continue }
        pendingBits -= 8
        bytes[count] = UInt8(truncatingIfNeeded: pending >> pendingBits)
        count += 1
      }
      isValid = pending & ((1 << pendingBits) - 1) == 0
    }
    return isValid ? bytes : nil
  }
}

/// The standard alphabet (RFC 4648 section 4).
package enum Base64 {
  private static let alphabet = Alphabet(last: "+/")
  private static let pad = UInt8(ascii: "=")

  package enum Padding: Sendable {
    case none, required, optional
  }

  /// The number of characters without padding.
  package static func encodedCount(_ byteCount: Int) -> Int { (byteCount * 4 + 2) / 3 }

  /// Appends the encoding without padding.
  package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    bytes.withUnsafeBufferPointer { alphabet.append($0, to: &text) }
  }

  package static func encode(_ bytes: [UInt8], isPadded: Bool = true) -> String {
    bytes.withUnsafeBufferPointer { encode($0, isPadded: isPadded) }
  }

  package static func encode(_ bytes: UnsafeBufferPointer<UInt8>, isPadded: Bool = true) -> String {
    var text: [UInt8] = []
    alphabet.append(bytes, to: &text)
    if isPadded { text += repeatElement(pad, count: (4 - text.count % 4) % 4) }
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` for a character outside of the alphabet, an impossible length, padding that does not fit, and unused bits
  /// that are not zero.
  package static func decode(_ text: String, padding: Padding = .required) -> [UInt8]? {
    var text = text
    return text.withUTF8 { decode($0, padding: padding) }
  }

  /// Takes this alphabet or the one for URLs, with padding or without, as protobuf's JSON mapping has it.
  package static func decode(ofEitherAlphabet text: String) -> [UInt8]? {
    let isForURLs = text.utf8.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    guard isForURLs else { return decode(text, padding: .optional) }
    let padding = text.utf8.reversed().prefix { $0 == pad }.count
    guard padding == 0 || padding <= 2 && text.utf8.count % 4 == 0 else { return nil }
    return Base64URL.decode(Array(text.utf8.dropLast(padding))[...])
  }

  package static func decode(_ text: UnsafeRawBufferPointer, padding: Padding) -> [UInt8]? {
    text.withMemoryRebound(to: UInt8.self) { decode($0, padding: padding) }
  }

  private static func decode(_ text: UnsafeBufferPointer<UInt8>, padding: Padding) -> [UInt8]? {
    let count = text.reversed().prefix { $0 == pad }.count
    let isWhole = text.count % 4 == 0 && count <= 2
    switch padding {
    case .none where count > 0: return nil
    case .required where !isWhole: return nil
    case .optional where count > 0 && !isWhole: return nil
    default: return alphabet.decode(UnsafeBufferPointer(rebasing: text.dropLast(count)))
    }
  }
}

/// The alphabet for URLs without padding (RFC 4648 section 5), as JWS requires it (RFC 7515 section 2).
package enum Base64URL {
  private static let alphabet = Alphabet(last: "-_")

  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    bytes.withUnsafeBufferPointer { alphabet.append($0, to: &text) }
  }

  /// `nil` for padding, white space, the standard alphabet's `+` and `/`, an impossible length, and unused bits that
  /// are not zero.
  package static func decode(_ text: String) -> [UInt8]? {
    var text = text
    return text.withUTF8 { alphabet.decode($0) }
  }

  package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    text.withUnsafeBufferPointer { alphabet.decode($0) }
  }

  package static func decode(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
    alphabet.decode(UnsafeBufferPointer(rebasing: text))
  }
}
