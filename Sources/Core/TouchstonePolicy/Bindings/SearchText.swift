/// A text by which a person is searched: an id or its beginning, as support staff type or paste it.
public struct SearchText: Sendable, Hashable {
  /// A passkey's credential has an id of 1,023 bytes at most, which are 1,364 characters of Base64.
  public static let maximumBytes = 2_048
  /// Fewer characters begin too many ids to be a search.
  public static let minimumPrefixCharacters = 3

  private let sent: String
  private let trimmed: String

  public init(_ text: String) {
    sent = text
    let visible = text.unicodeScalars.filter { $0.properties.generalCategory != .format }
    let first = visible.firstIndex { !$0.surroundsPastes } ?? visible.endIndex
    let last = visible.lastIndex { !$0.surroundsPastes } ?? first
    trimmed = first == visible.endIndex ? "" : String(visible[first...last])
  }

  /// The texts to look for, in this order: as it was sent, because an id may have any characters; and without what a
  /// paste brings.
  public var candidates: [String] { Identifier.areEqual(sent, trimmed) ? [sent] : [sent, trimmed] }

  /// Why nothing can be found by it, to follow the field's name; `nil`: something can.
  public func violation(asPrefix isPrefix: Bool) -> String? {
    if sent.utf8.count > Self.maximumBytes { return "is longer than \(Self.maximumBytes) bytes" }
    if isPrefix, trimmed.count < Self.minimumPrefixCharacters {
      return "must be at least \(Self.minimumPrefixCharacters) characters for a prefix, is \(trimmed.count)"
    }
    return Identifier.violation(
      in: trimmed, maximumBytes: isPrefix ? Identifier.maximumBytes : Self.maximumBytes)
  }
}

extension Unicode.Scalar {
  /// Spaces, line ends, quotes.
  fileprivate var surroundsPastes: Bool { properties.isWhitespace || properties.isQuotationMark || self == "`" }
}
