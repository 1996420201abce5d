// Times and numbers as reports have them.

internal import Glibc

extension Duration {
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  package var inMicroseconds: Int {
    let (seconds, attoseconds) = components
    return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }

  /// "10s", "500ms", "2m", "1h"; `nil` for anything else.
  package init?(loadTime text: some StringProtocol) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits), number <= Self.maximumNumber else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": self = .milliseconds(number)
    case "s": self = .seconds(number)
    case "m": self = .seconds(number * 60)
    case "h": self = .seconds(number * 3_600)
    default: return nil
    }
  }

  /// A larger number of any unit is refused, so that no sum of times overflows.
  private static let maximumNumber = 1_000_000

  /// How many bins of a width lie before this time.
  func bin(of width: Duration, roundedUp: Bool = false) -> Int {
    Int((self / width).rounded(roundedUp ? .up : .down))
  }
}

extension Double {
  /// The number with so many decimals.
  package func fixed(_ decimals: Int) -> String {
    let scale = pow(10.0, Double(decimals))
    guard isFinite, magnitude < 1e15 else { return "\(self)" }
    let scaled = Int((magnitude * scale).rounded())
    let sign = self < 0 && scaled > 0 ? "-" : ""
    let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int(scale))
    guard decimals > 0 else { return "\(sign)\(whole)" }
    let digits = String(fraction)
    return "\(sign)\(whole)." + String(repeating: "0", count: decimals - digits.count) + digits
  }

  /// The number, without a fraction if it has none.
  package var brief: String {
    self == rounded() ? fixed(0) : fixed(1)
  }
}

extension Int {
  /// "1,234,567".
  package var grouped: String {
    var digits = Array(String(magnitude))
    for position in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: position) }
    return (self < 0 ? "-" : "") + String(digits)
  }

  /// Microseconds, as short as an axis needs them.
  package var asAxisTime: String {
    switch self {
    case ..<1_000: "\(self) µs"
    case ..<1_000_000: "\((Double(self) / 1e3).brief) ms"
    default: "\((Double(self) / 1e6).brief) s"
    }
  }

  /// Microseconds, in the unit that a person reads them in.
  package var asTime: String {
    let value = Double(self)
    return switch self {
    case ..<1_000: "\(self) µs"
    case ..<10_000: "\((value / 1e3).fixed(2)) ms"
    case ..<1_000_000: "\((value / 1e3).fixed(1)) ms"
    default: "\((value / 1e6).fixed(2)) s"
    }
  }
}
