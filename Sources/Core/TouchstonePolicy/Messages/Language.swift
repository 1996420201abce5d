// The language of texts for a person (R20): RFC 9110, section 12.5.4, over the languages of the service.

/// A language in which every message is written.
public enum Language: String, Sendable, Hashable, CaseIterable {
  case english = "en"
  case simplifiedChinese = "zh-Hans"

  /// BCP 47.
  public var tag: String { rawValue }

  /// The default if the request accepts none of ours: a message in some language is better than none.
  public static let `default` = Language.english
}

extension Language {
  var wording: any Wording {
    switch self {
    case .english: Self.englishWording
    case .simplifiedChinese: Self.simplifiedChineseWording
    }
  }

  // Made once: each holds texts, and a new one would be allocated for each answer.
  private static let englishWording: any Wording = EnglishWording()
  private static let simplifiedChineseWording: any Wording = SimplifiedChineseWording()
}

extension Language {
  /// How many ranges are read; the rest is ignored. Browsers send a handful.
  static let maximumRanges = 32

  /// The most wanted language of those that the service has; among equals, the first. Malformed ranges are skipped.
  ///
  /// - Parameter acceptLanguage: the field's value; `nil`: there was none.
  public init(acceptLanguage: String?) {
    var wants: [(language: Language, weight: UInt16)] = []
    var weightOfOthers: UInt16 = 0
    let elements = (acceptLanguage ?? "").utf8.split(separator: UInt8(ascii: ","), maxSplits: Self.maximumRanges)
    for element in elements.prefix(Self.maximumRanges) {
      guard let (range, weight) = Self.weightedRange(element[...]) else { continue }
      if range.elementsEqual("*".utf8) {
        weightOfOthers = weight
      } else if let language = Language(range: range) {
        wants.append((language, weight))
      }
    }
    // "*" stands for every language that no other range names.
    for language in Self.allCases where !wants.contains(where: { $0.language == language }) {
      wants.append((language, weightOfOthers))
    }
    var best = (language: Self.default, weight: 0 as UInt16)
    for want in wants where want.weight > best.weight { best = want }
    self = best.language
  }

  /// `zh` alone is simplified, by CLDR's likely subtags. Readers of traditional characters do not get simplified ones.
  private init?(range: Substring.UTF8View) {
    let subtags = String(decoding: range, as: UTF8.self).lowercased().split(separator: "-")
    switch subtags.first {
    case "en":
      self = .english
    case "zh" where subtags.contains("hans"):
      self = .simplifiedChinese
    case "zh" where !subtags.contains(where: Self.traditionalChineseSubtags.contains):
      self = .simplifiedChinese
    default:
      return nil
    }
  }

  private static let traditionalChineseSubtags: Set<Substring> = ["hant", "tw", "hk", "mo"]

  /// `language-range [ OWS ";" OWS "q=" qvalue ]`; the weight is in thousandths.
  private static func weightedRange(_ element: Substring.UTF8View) -> (range: Substring.UTF8View, weight: UInt16)? {
    let parts = element.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let range = parts.first.map(trimmed), isLanguageRange(range) else { return nil }
    guard parts.count == 2 else { return (range, 1_000) }
    let parameter = trimmed(parts[1])
    let name = parameter.prefix(2)
    guard name.elementsEqual("q=".utf8) || name.elementsEqual("Q=".utf8) else { return nil }
    return thousandths(parameter.dropFirst(2)).map { (range, $0) }
  }

  /// RFC 9110, section 12.4.2: 0 to 1, with at most three digits behind the point.
  private static func thousandths(_ text: Substring.UTF8View) -> UInt16? {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, whole.count == 1, let first = whole.first, first == 0x30 || first == 0x31 else {
      return nil
    }
    let fraction = parts.count == 2 ? Array(parts[1]) : []
    guard fraction.count <= 3, fraction.allSatisfy(digits.contains) else { return nil }
    let padded = fraction + [UInt8](repeating: 0x30, count: 3 - fraction.count)
    let value = padded.reduce(UInt16(first - 0x30)) { $0 * 10 + UInt16($1 - 0x30) }
    return value <= 1_000 ? value : nil
  }

  /// RFC 4647, section 2.1: subtags of 1 to 8 letters or digits, or "*".
  private static func isLanguageRange(_ range: Substring.UTF8View) -> Bool {
    if range.elementsEqual("*".utf8) { return true }
    return range.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).allSatisfy { subtag in
      (1...8).contains(subtag.count) && subtag.allSatisfy(isAlphanumeric)
    }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  /// Without the optional white space (OWS) around it.
  private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var text = text.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text = text.dropLast() }
    return text
  }
}
