// The console's texts in each language, read from the files in `Languages`. Pure.

internal import TouchstonePolicy

/// The texts of one language, by their names.
struct Texts: Sendable {
  let texts: [String: String]

  /// - Parameter file: lines of the form "name = text"; others are notes.
  init(_ file: [UInt8]) {
    let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    let pairs = lines.map { $0.split(separator: " = ", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
    texts = Dictionary(pairs.map { ($0[0], $0[1]) }) { _, last in last }
  }

  subscript(name: String) -> String? { texts[name] }

  static func of(_ language: Language) -> Texts {
    switch language {
    case .english: english
    case .simplifiedChinese: simplifiedChinese
    }
  }

  private static let english = Texts(PackageResources.en_txt)
  private static let simplifiedChinese = Texts(PackageResources.zh_Hans_txt)

  /// Puts the values into the places of {1}, {2} and so on. What a value holds is no place.
  static func filled(_ text: String, _ values: [String]) -> String {
    guard !values.isEmpty else { return text }
    var (filled, rest) = ("", text[...])
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let value = Int(rest[rest.index(after: open)..<close]).flatMap { values.indices.contains($0 - 1) ? $0 - 1 : nil }
      filled += rest[..<open]
      filled += value.map { values[$0][...] } ?? rest[open...close]
      rest = rest[rest.index(after: close)...]
    }
    return filled + rest
  }
}
