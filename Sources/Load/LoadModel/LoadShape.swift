/// The shape of a load, as `--shape` names it: a closed loop, or a rate over time.
package struct LoadShape: Hashable, Sendable {
  package enum Rates: Hashable, Sendable {
    /// Each caller starts its next call when the last one ends.
    case closed
    case constant(Double)
    /// Equal parts of the run.
    case steps([Double])
    case ramp(from: Double, to: Double)
    /// The base rate, and the peak during the middle fifth of the run.
    case spike(base: Double, peak: Double)
  }

  package var rates: Rates
  /// Random gaps, as independent users cause (a Poisson process), instead of even ones.
  package var isPoisson: Bool

  package init(_ rates: Rates, isPoisson: Bool = false) {
    self.rates = rates
    self.isPoisson = isPoisson
  }

  package static let closed = LoadShape(.closed)

  /// Calls per second; more than one process sends.
  package static let maximumRate = 1_000_000.0

  package var isClosed: Bool { rates == .closed }

  /// The rate over a run of this duration; empty for a closed loop.
  package func segments(over duration: Duration) -> [RateSegment] {
    switch rates {
    case .closed: []
    case .constant(let rate): [RateSegment(duration, rate)]
    case .steps(let rates): rates.map { RateSegment(duration / rates.count, $0) }
    case .ramp(let start, let end): [RateSegment(duration, from: start, to: end)]
    case .spike(let base, let peak):
      [RateSegment(duration * 2 / 5, base), RateSegment(duration / 5, peak), RateSegment(duration * 2 / 5, base)]
    }
  }

  /// The first rate of the shape, which the warm-up has too.
  package func warmUpSegments(over duration: Duration) -> [RateSegment] {
    segments(over: duration).first.map { [RateSegment(duration, $0.from)] } ?? []
  }

  package var peakRate: Double {
    segments(over: .seconds(1)).map { max($0.from, $0.to) }.max() ?? 0
  }
}

/// A part of a run in which the rate is constant or changes linearly. Calls per second.
package struct RateSegment: Hashable, Sendable {
  package var duration: Duration
  package var from: Double
  package var to: Double

  package init(_ duration: Duration, from: Double, to: Double) {
    (self.duration, self.from, self.to) = (duration, from, to)
  }

  package init(_ duration: Duration, _ rate: Double) {
    self.init(duration, from: rate, to: rate)
  }
}

extension LoadShape: CustomStringConvertible {
  /// "closed", "constant:200", "poisson:200", "steps:100,200", "ramp:100-1000", "spike:100-1000".
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let numbers = parts.count == 2 ? parts[1] : ""
    guard name != "closed" else {
      guard parts.count == 1 else { return nil }
      self = .closed
      return
    }
    let separator: Character = name == "steps" ? "," : "-"
    let rates = numbers.split(separator: separator, omittingEmptySubsequences: false).map { Double($0) ?? -1 }
    guard rates.allSatisfy({ (0...Self.maximumRate).contains($0) }), rates.contains(where: { $0 > 0 }) else {
      return nil
    }
    switch (name, rates.count) {
    case ("constant", 1): self.init(.constant(rates[0]))
    case ("poisson", 1): self.init(.constant(rates[0]), isPoisson: true)
    case ("steps", 1...): self.init(.steps(rates))
    case ("ramp", 2): self.init(.ramp(from: rates[0], to: rates[1]))
    case ("spike", 2): self.init(.spike(base: rates[0], peak: rates[1]))
    default: return nil
    }
  }

  package var description: String {
    let shape =
      switch rates {
      case .closed: "closed"
      case .constant(let rate): "constant:\(rate.brief)"
      case .steps(let rates): "steps:\(rates.map(\.brief).joined(separator: ","))"
      case .ramp(let start, let end): "ramp:\(start.brief)-\(end.brief)"
      case .spike(let base, let peak): "spike:\(base.brief)-\(peak.brief)"
      }
    return isPoisson ? "\(shape), Poisson" : shape
  }
}
