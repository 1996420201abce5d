// Texts that a person reads before they decide: what is in them must be seen, in its order.

/// Judges a text of a caller: a payee, a prompt, a device's name, an operator's reason.
///
/// A character that shows nothing makes two texts look alike, and a mark that turns the direction of writing shows another text than
/// the one that is signed.
public enum VisibleText {
  private static let printableASCII: ClosedRange<UInt8> = 0x20...0x7E

  /// Why no person can be shown the text, to follow the field's name ("is blank"); `nil` if it can be shown. The reason does not quote
  /// the text.
  ///
  /// - Parameters:
  ///   - bytes: the allowed length in bytes of UTF-8. A text may be empty if they begin with 0.
  ///   - hasLines: whether line feeds are allowed.
  public static func violation(in text: String, bytes: ClosedRange<Int>, hasLines: Bool = false) -> String? {
    let count = text.utf8.count
    if count == 0, bytes.lowerBound > 0 { return "is empty" }
    guard bytes.contains(count) else {
      return "must be \(bytes.lowerBound) to \(bytes.upperBound) bytes, is \(count)"
    }
    if count == 0 { return nil }
    let isBlank: Bool
    // Most texts; in one piece, because a string's view checks its form at every byte.
    let areASCII = text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(printableASCII.contains) } ?? false
    if areASCII {
      isBlank = text.utf8.allSatisfy { $0 == 0x20 }
    } else {
      let scalars = Array(text.unicodeScalars)
      for (index, scalar) in scalars.enumerated() where !(hasLines && scalar == "\n") {
        guard
          isVisible(
            scalar, before: index + 1 < scalars.count ? scalars[index + 1] : nil,
            after: index > 0 ? scalars[index - 1] : nil)
        else {
          let name = String(scalar.value, radix: 16, uppercase: true)
          let digits = String(repeating: "0", count: max(0, 4 - name.count)) + name
          return "has U+\(digits), which no person sees or which turns the direction of the text"
        }
      }
      isBlank = scalars.allSatisfy(\.isBlank)
    }
    return isBlank ? "is blank" : nil
  }

  private static func isVisible(
    _ scalar: Unicode.Scalar, before next: Unicode.Scalar?, after previous: Unicode.Scalar?
  ) -> Bool {
    if joiners.contains(scalar) {
      guard let previous, let next else { return false }
      // Persian and the scripts of India write with them; families and professions among emoji are joined by one.
      return previous.isLetterOrMark && next.isLetterOrMark
        || scalar == zeroWidthJoiner && previous.endsEmoji && next.isPicture
    }
    // The emoji of a character that is also a sign of text, such as a heart.
    if scalar == emojiSelector { return previous?.isPicture ?? false }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return false
    default: return !scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  private static let zeroWidthJoiner: Unicode.Scalar = "\u{200D}"
  private static let joiners: Set<Unicode.Scalar> = ["\u{200C}", zeroWidthJoiner]
  fileprivate static let emojiSelector: Unicode.Scalar = "\u{FE0F}"
}

extension Unicode.Scalar {
  fileprivate var isLetterOrMark: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark:
      !properties.isDefaultIgnorableCodePoint
    default: false
    }
  }

  /// Digits and "#" are emoji, too, as parts of keycaps, but look alike with and without a selector.
  fileprivate var isPicture: Bool { value > 0xFF && properties.isEmoji }

  fileprivate var endsEmoji: Bool { isPicture || self == VisibleText.emojiSelector || properties.isEmojiModifier }

  /// White space, an accent without its letter, or Braille's empty cell.
  fileprivate var isBlank: Bool {
    switch properties.generalCategory {
    case .spaceSeparator, .control, .nonspacingMark, .enclosingMark, .spacingMark, .format: true
    default: self == "\u{2800}"
    }
  }
}
