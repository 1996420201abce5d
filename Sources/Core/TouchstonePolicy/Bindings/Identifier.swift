/// Names that callers choose: applications, profiles, devices, bindings, policies (docs/RULES.md, "Words"). They are
/// bytes, which are never folded, trimmed or normalised.
public enum Identifier {
  /// Longest identifier, in bytes of UTF-8: room for a UUID, an e-mail address or a digest, and an index page still
  /// holds dozens.
  public static let maximumBytes = 128

  /// Why the text is no identifier, to follow the field's name ("is empty"); `nil` if it is one. The reason does not
  /// quote the text.
  public static func violation(in text: String, maximumBytes: Int = Identifier.maximumBytes) -> String? {
    if text.utf8.isEmpty { return "is empty" }
    if text.utf8.count > maximumBytes { return "is longer than \(maximumBytes) bytes" }
    if containsControlCharacter(text) { return "contains a control character" }
    return nil
  }

  /// Compares byte for byte. `==` on `String` does not: for it, the composed and the decomposed "é" are the same, so
  /// two accounts would be one.
  public static func areEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && withBytes(of: left) { left in withBytes(of: right) { right in left.elementsEqual(right) } }
  }

  /// Whether a text contains the identifier, in upper or lower case. An identifier shorter than
  /// `ProfileTouchID.shortestTellingName` is in many texts by chance, and does not count.
  public static func isTold(_ id: String, by text: String) -> Bool {
    Array(text.utf8).contains(name: id)
  }

  /// Unicode's category Cc: C0, DEL and C1.
  private static func containsControlCharacter(_ text: String) -> Bool {
    withBytes(of: text) { bytes in
      var previous: UInt8 = 0
      for byte in bytes {
        // U+0080 to U+009F are C2 80 to C2 9F in UTF-8, and C2 is never a second byte.
        let isC1 = previous == 0xC2 && (0x80...0x9F).contains(byte)
        if byte < 0x20 || byte == 0x7F || isC1 { return true }
        previous = byte
      }
      return false
    }
  }

  /// In one piece, because iterating over `String.UTF8View` checks the string's form at every byte; and without a
  /// mutable copy, whose reference would be counted.
  @inline(__always)
  private static func withBytes<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
    var copy = text
    return copy.withUTF8(body)
  }
}
