// The language of the service's texts for a person: RFC 9110, section 12.5.4, over the languages that the service has.

enum Language: String, CaseIterable {
  case english = "en"
  case simplifiedChinese = "zh-Hans"

  /// The service reads no more ranges.
  private static let maximumRanges = 32

  /// Returns the service's language for a value of `accept-language`: the most wanted one, among equals the first.
  static func served(_ languages: String) -> Language {
    var wants: [(language: Language, weight: Int)] = []
    var weightOfOthers = 0
    for element in languages.lowercased().split(separator: ",").prefix(maximumRanges) {
      let parts = element.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
      guard let weight = parts.count == 1 ? 1_000 : thousandths(parts[1]) else { continue }
      if parts[0] == "*" {
        weightOfOthers = weight
      } else if let language = Language(range: parts[0]) {
        wants.append((language, weight))
      }
    }
    // "*" stands for the languages that no range names.
    for language in allCases where !wants.contains(where: { $0.language == language }) {
      wants.append((language, weightOfOthers))
    }
    return wants.reduce((.english, 0)) { $1.weight > $0.weight ? $1 : $0 }.language
  }

  /// Chinese without a script is simplified, but for places that write traditional characters.
  private init?(range: Substring) {
    let traditional: Set<Substring> = ["hant", "tw", "hk", "mo"]
    let subtags = range.split(separator: "-", omittingEmptySubsequences: false)
    let areWhole = subtags.allSatisfy { subtag in
      (1...8).contains(subtag.utf8.count)
        && subtag.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) }
    }
    switch subtags[0] {
    case "en" where areWhole: self = .english
    case "zh" where areWhole && (subtags.contains("hans") || traditional.isDisjoint(with: subtags)):
      self = .simplifiedChinese
    default: return nil
    }
  }

  /// "q=0.25" is 250.
  private static func thousandths(_ weight: Substring) -> Int? {
    let parts = weight.dropFirst(2).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let fraction = parts.count == 2 ? parts[1] : ""
    guard weight.hasPrefix("q="), ["0", "1"].contains(parts[0]), fraction.utf8.count <= 3,
      fraction.utf8.allSatisfy({ (48...57).contains($0) }),
      let sum = Int(parts[0] + fraction + String(repeating: "0", count: 3 - fraction.utf8.count))
    else { return nil }
    return sum <= 1_000 ? sum : nil
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let text = text.drop { $0 == " " || $0 == "\t" }
    return text.lastIndex { $0 != " " && $0 != "\t" }.map { text[...$0] } ?? ""
  }
}
