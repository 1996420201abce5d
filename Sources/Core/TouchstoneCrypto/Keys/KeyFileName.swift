internal import Encodings

/// The kinds of keys that rotate. Each has its own directory.
public enum KeyKind: String, Sendable, Hashable, CaseIterable {
  case sealing
  case signing
  /// Signs accounts of removed content in the audit log.
  case audit

  var suffix: String {
    switch self {
    case .sealing: ".key"
    case .signing, .audit: ".pem"
    }
  }

  /// The largest file of its kind: a P-256 key in PKCS#8 PEM takes 241 bytes, in SEC 1 227.
  var maximumByteCount: Int {
    switch self {
    case .sealing: SealingKey.byteCount
    case .signing, .audit: 1024
    }
  }
}

/// The name of a key's file, with its number and the time from which it is used: `2.pem`, or
/// `2.from-20261121T213000Z.pem` for a key that is used from then on.
struct KeyFileName: Hashable, Comparable {
  var kind: KeyKind
  var number: Int
  /// Unix seconds; `nil`: always.
  var usedFrom: Int64?

  static let maximumNumber = 999_999_999

  init(kind: KeyKind, number: Int, usedFrom: Int64? = nil) {
    self.kind = kind
    self.number = number
    self.usedFrom = usedFrom
  }

  /// `nil` for any other name. Numbers have no leading zero and at most nine digits.
  init?(_ name: String, kind: KeyKind) {
    guard name.hasSuffix(kind.suffix) else { return nil }
    let stem = name.dropLast(kind.suffix.count)
    let digits = stem.prefix { $0 != "." }
    guard let number = Int(digits), (1...Self.maximumNumber).contains(number), String(number) == digits else {
      return nil
    }
    self.init(kind: kind, number: number)
    let rest = stem.dropFirst(digits.count)
    guard !rest.isEmpty else { return }
    guard rest.hasPrefix(Self.timeMark), let time = CalendarTime.read(basic: rest.dropFirst(Self.timeMark.count)) else {
      return nil
    }
    usedFrom = time
  }

  var text: String {
    "\(number)\(usedFrom.map { Self.timeMark + CalendarTime.basic($0) } ?? "")\(kind.suffix)"
  }

  /// The path in the ring's directory.
  var path: String { "\(kind.rawValue)/\(text)" }

  /// For an error about a misspelt name.
  static func form(of kind: KeyKind) -> String {
    "<number>\(kind.suffix) or <number>\(timeMark)<yyyymmdd>T<hhmmss>Z\(kind.suffix)"
  }

  static func < (left: Self, right: Self) -> Bool {
    (left.number, left.usedFrom ?? .min) < (right.number, right.usedFrom ?? .min)
  }

  private static let timeMark = ".from-"
}
