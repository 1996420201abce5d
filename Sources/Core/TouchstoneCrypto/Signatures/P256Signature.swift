/// One inner form for the two encodings of ECDSA signatures that devices send (R33): `r ‖ s`, big-endian, 32 bytes
/// each. The verifier checks their range.
struct P256Signature {
  static let rawByteCount = 64

  let raw: [UInt8]

  /// 64 bytes are raw; any other length must be DER. A DER signature of exactly 64 bytes has 50 leading zero bits in r
  /// and s together, so no honest one is lost.
  init?(_ bytes: [UInt8]) {
    if bytes.count == Self.rawByteCount {
      raw = bytes
    } else if let parsed = Self.parseDER(bytes) {
      raw = parsed
    } else {
      return nil
    }
  }

  /// Ecdsa-Sig-Value (RFC 3279 section 2.2.3) in DER: SEQUENCE { r INTEGER, s INTEGER } and nothing after it. At most
  /// 72 bytes, so every length has the short form.
  private static func parseDER(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count >= 2, bytes[0] == DERTag.sequence, Int(bytes[1]) == bytes.count - 2 else { return nil }
    var raw = [UInt8](repeating: 0, count: rawByteCount)
    var rest = bytes[2...]
    guard
      let r = takeInteger(from: &rest),
      let s = takeInteger(from: &rest),
      rest.isEmpty
    else { return nil }
    raw.replaceSubrange(integerByteCount - r.count..<integerByteCount, with: r)
    raw.replaceSubrange(rawByteCount - s.count..<rawByteCount, with: s)
    return raw
  }

  /// An INTEGER's magnitude, at most 32 bytes. Negative ones and superfluous leading zeros are refused.
  private static func takeInteger(from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard rest.popFirst() == DERTag.integer, let length = rest.popFirst(), length >= 1, length <= rest.count else {
      return nil
    }
    var magnitude = rest.prefix(Int(length))
    rest = rest.dropFirst(Int(length))
    guard magnitude.first! < 0x80 else { return nil }
    if magnitude.count > 1, magnitude.first! == 0 {
      magnitude = magnitude.dropFirst()
      guard magnitude.first! >= 0x80 else { return nil }
    }
    return magnitude.count <= integerByteCount ? magnitude : nil
  }

  private static let integerByteCount = rawByteCount / 2

  private enum DERTag {
    static let integer: UInt8 = 0x02
    static let sequence: UInt8 = 0x30
  }
}
