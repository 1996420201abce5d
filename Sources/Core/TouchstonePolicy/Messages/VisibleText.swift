/// Judges a text of a caller that a person reads before they decide: a payee, a prompt, a device's name, an operator's
/// reason. What is in it must be seen, in its order.
///
/// A character that shows nothing makes two texts look alike, and a mark that turns the direction of writing shows
/// another text than the one that is signed.
public enum VisibleText {
  private static let printableASCII: ClosedRange<UInt8> = 0x20...0x7E

  /// Why no person can be shown the text, to follow the field's name ("is blank"); `nil` if it can be shown. The reason
  /// does not quote the text.
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
      let scalars = Array(text.unicodeScalars).withoutRegionsOfFlags
      for (index, scalar) in scalars.enumerated() where !(hasLines && scalar == "\n") {
        let following = index + 1 < scalars.count ? scalars[index + 1] : nil
        guard isVisible(scalar, before: following, after: scalars[..<index]) else {
          let name = String(scalar.value, radix: 16, uppercase: true)
          let digits = String(repeating: "0", count: max(0, 4 - name.count)) + name
          return "has U+\(digits), which no person sees there, or which turns the direction of the text"
        }
      }
      isBlank = scalars.allSatisfy(\.isBlank)
    }
    return isBlank ? "is blank" : nil
  }

  private static func isVisible(
    _ scalar: Unicode.Scalar, before next: Unicode.Scalar?, after preceding: ArraySlice<Unicode.Scalar>
  ) -> Bool {
    let previous = preceding.last
    if joiners.contains(scalar) {
      guard let previous, let next else { return false }
      // Persian and the scripts of India write with them; families and professions among emoji are joined by one.
      return previous.isLetterOrMark && next.isLetterOrMark
        || scalar == zeroWidthJoiner && previous.endsEmoji && next.isPicture
    }
    // The emoji of a character that is also a sign of text, such as a heart.
    if scalar == emojiSelector {
      return previous.map { $0.isPicture || $0.isKeycapBase && next == keycap } ?? false
    }
    if scalar == keycap {
      return (previous == emojiSelector ? preceding.dropLast().last : previous)?.isKeycapBase == true
    }
    return !fillers.contains(scalar) && isSeen(scalar)
  }

  /// Whether a character shows something by itself, and turns the direction of nothing. Joiners and selectors do not.
  public static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: !scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  private static let zeroWidthJoiner: Unicode.Scalar = "\u{200D}"
  private static let joiners: Set<Unicode.Scalar> = ["\u{200C}", zeroWidthJoiner]
  fileprivate static let emojiSelector: Unicode.Scalar = "\u{FE0F}"
  private static let keycap: Unicode.Scalar = "\u{20E3}"
  /// Signs without a picture: Braille's empty cell, and a note without a head.
  private static let fillers: Set<Unicode.Scalar> = ["\u{2800}", "\u{1D159}"]
}

extension [Unicode.Scalar] {
  /// Without the tags of the flags of England, Scotland and Wales, which name the region after a black flag (Unicode
  /// Technical Standard 51, "RGI emoji tag sequence"). Other tags show nothing, and stay.
  fileprivate var withoutRegionsOfFlags: [Unicode.Scalar] {
    guard contains("\u{1F3F4}") else { return self }
    var rest: [Unicode.Scalar] = []
    var index = 0
    while index < count {
      rest.append(self[index])
      let tags = self[(index + 1)...].prefix(Self.regionTags[0].count)
      index += self[index] == "\u{1F3F4}" && Self.regionTags.contains(Array(tags)) ? 1 + tags.count : 1
    }
    return rest
  }

  private static let regionTags = ["gbeng", "gbsct", "gbwls"].map { region in
    region.unicodeScalars.compactMap { Unicode.Scalar(0xE0000 + $0.value) } + ["\u{E007F}"]
  }
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

  /// Not the digits, "#" and "*", which are emoji, too, as parts of keycaps, but look alike with and without a
  /// selector.
  fileprivate var isPicture: Bool { value > 0x7F && properties.isEmoji }

  /// A digit, "#" or "*" (Unicode Technical Standard 51, "emoji keycap sequence").
  fileprivate var isKeycapBase: Bool { value <= 0x7F && properties.isEmoji }

  fileprivate var endsEmoji: Bool { isPicture || self == VisibleText.emojiSelector || properties.isEmojiModifier }

  /// White space, or an accent without its letter.
  fileprivate var isBlank: Bool {
    switch properties.generalCategory {
    case .spaceSeparator, .control, .nonspacingMark, .enclosingMark, .spacingMark, .format: true
    default: false
    }
  }
}
