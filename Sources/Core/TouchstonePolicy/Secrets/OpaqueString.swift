// The standard library composes texts for `String.==`, and offers the result as an SPI only. Its tables are part of
// every Swift program: a static binary with this import is as large as one without. ICU (Foundation), GLib or
// libunistring would each be a library more. If a later compiler lacks the SPI, this file does not compile.
@_spi(_Unicode) import Swift

/// A passcode as it is compared: one text for all keyboards that a person types it on (R16). It is the profile
/// OpaqueString of RFC 8265, section 4.2, of which it applies the two mappings. It refuses no character: passcodes with
/// emoji and joiners were set before, and stay right.
public enum OpaqueString {
  /// No canonical decomposition of one scalar has more. Longer texts cannot become short enough by composition.
  static let mostScalarsOfOne = 4

  /// Returns the text with each space as U+0020, in Unicode's normalisation form C.
  public static func prepare(_ text: String) -> String {
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
    var spaced = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
    }
    var prepared = String.UnicodeScalarView()
    for scalar in String(spaced)._nfc { prepared.append(scalar) }
    return String(prepared)
  }
}
