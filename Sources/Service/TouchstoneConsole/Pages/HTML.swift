// Markup that escapes what it is given. Pure.

internal import DispatchHTTP
internal import Encodings

/// A piece of a page. Markup comes from literals in the code alone; every other text that is put into one is escaped. A
/// text that people wrote belongs between tags or into an attribute with quotes, and never into a tag's name.
struct HTML: Sendable, ExpressibleByStringInterpolation {
  private(set) var text: String

  init(stringLiteral markup: String) {
    text = markup
  }

  init(stringInterpolation pieces: Interpolation) {
    text = pieces.text
  }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ markup: String) { text += markup }
    mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
    mutating func appendInterpolation(_ number: some FixedWidthInteger & Sendable) { text += String(number) }
    mutating func appendInterpolation(_ markup: HTML) { text += markup.text }
    mutating func appendInterpolation(_ markup: HTML?) { text += markup?.text ?? "" }
    mutating func appendInterpolation(_ list: [HTML]) { for markup in list { text += markup.text } }
  }

  static let empty: HTML = ""

  /// By bytes of UTF-8: all five are ASCII.
  static func escaped(_ text: String) -> String {
    var escaped: [UInt8] = []
    escaped.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): escaped += "&amp;".utf8
      case UInt8(ascii: "<"): escaped += "&lt;".utf8
      case UInt8(ascii: ">"): escaped += "&gt;".utf8
      case UInt8(ascii: "\""): escaped += "&quot;".utf8
      case UInt8(ascii: "'"): escaped += "&#39;".utf8
      default: escaped.append(byte)
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  /// A text that others chose, set apart: its direction and its marks change nothing around it.
  /// Between a first-strong isolate and its end (UAX 9), so that the text turns the direction of nothing beside it.
  static func isolated(_ text: String) -> String { "\u{2068}\(text)\u{2069}" }

  static func name(_ text: String) -> HTML { "<bdi>\(breakable(text))</bdi>" }

  /// An identifier, to be compared or copied.
  static func code(_ text: String) -> HTML { "<code><bdi>\(breakable(text))</bdi></code>" }

  /// A line may end after marks that join words, and not within a word where there is another place.
  private static func breakable(_ text: String) -> HTML {
    var html = HTML.empty
    for scalar in text.unicodeScalars {
      html.text += escaped(String(scalar))
      if "@.-_/:".unicodeScalars.contains(scalar) { html.text += "<wbr>" }
    }
    return html
  }
}

/// A link within the console, whose query is encoded.
enum ConsoleLink {
  /// The end of the query of a page that the console's own page opened once more, so that it does so only once.
  static let repeated = "repeated=yes"

  static func profile(_ application: String, _ profile: String) -> String {
    path(ConsolePath.profile, [(Form.Field.application, application), (Form.Field.profile, profile)])
  }

  static func path(_ path: String, _ fields: [(String, String)] = []) -> String {
    fields.isEmpty
      ? path
      : path + "?" + fields.map { "\(FormFields.encode($0.0))=\(FormFields.encode($0.1))" }.joined(separator: "&")
  }
}

/// Dates and times of day, in UTC.
enum CivilTime {
  /// "2026-11-24" and "09:05:07". Other times are moved to the first or the last one that has such a text.
  static func texts(_ unixSeconds: Int64) -> (day: String, clock: String) {
    let range = CalendarTime.fourDigits
    let text = CalendarTime(secondsSince1970: min(max(unixSeconds, range.lowerBound), range.upperBound)).dateTime
    return (String(text.prefix(10)), String(text.suffix(8)))
  }
}
