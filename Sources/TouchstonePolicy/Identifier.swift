// Names that callers choose: applications, profiles, devices, bindings, policies. DOMAIN.md, "Words".

/// Identifiers are bytes. They are never folded, trimmed or normalised.
public enum Identifier {
  /// Longest identifier, in bytes of UTF-8: room for a UUID, an e-mail address or a digest, and an index page still
  /// holds dozens.
  public static let maximumBytes = 128

  /// Why the text is no identifier, to go behind the field's name ("is empty"); `nil` where it is one. Says nothing of
  /// the text itself.
  public static func violation(in text: String, maximumBytes: Int = Identifier.maximumBytes) -> String? {
    if text.utf8.isEmpty { return "is empty" }
    if text.utf8.count > maximumBytes { return "is longer than \(maximumBytes) bytes" }
    if containsControlCharacter(text) { return "contains a control character" }
    return nil
  }

  /// Byte for byte. `==` on `String` is not: to it, "é" is the same composed and decomposed, so that two accounts
  /// would be one.
  public static func areEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && withBytes(of: left) { left in withBytes(of: right) { right in left.elementsEqual(right) } }
  }

  /// Whether a text tells the identifier, in whichever case. One that is shorter than
  /// `ProfileTouchID.shortestTellingName` stands in many a text by chance, and does not count.
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

  /// In one piece: to iterate over `String.UTF8View` asks for the string's form at every byte. And without a copy to
  /// change, whose reference would be counted.
  @inline(__always)
  private static func withBytes<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
    var copy = text
    return copy.withUTF8(body)
  }
}
