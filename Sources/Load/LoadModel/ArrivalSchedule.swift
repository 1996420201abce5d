internal import Glibc

/// The due times of the calls, from the start of the first segment, in order.
///
/// With even gaps, call n is due when the rate's integral reaches n. With random gaps, the integral between two calls
/// is exponentially distributed, which makes a Poisson process of varying rate.
package struct ArrivalSchedule<Generator: RandomNumberGenerator>: Sequence, IteratorProtocol {
  private var segments: ArraySlice<RateSegment>
  private let isPoisson: Bool
  private var generator: Generator
  /// Calls that the rate amounts to, from the first segment to the next call.
  private var target = 0.0
  /// The same, to the start of the current segment.
  private var passed = 0.0
  private var segmentStart = Duration.zero

  package init(_ segments: [RateSegment], isPoisson: Bool, using generator: Generator) {
    self.segments = segments[...]
    self.isPoisson = isPoisson
    self.generator = generator
    if isPoisson { target = nextGap() }
  }

  package mutating func next() -> Duration? {
    while let segment = segments.first {
      let calls = (segment.from + segment.to) / 2 * segment.duration.inSeconds
      // 200 per second for 6 s are 1,200 calls; no rounding error makes it 1,201.
      guard target < passed + calls - 1e-6 else {
        passed += calls
        segmentStart += segment.duration
        segments.removeFirst()
        continue
      }
      let due = segmentStart + segment.time(of: Swift.max(0, target - passed))
      target += nextGap()
      return due
    }
    return nil
  }

  private mutating func nextGap() -> Double {
    isPoisson ? -log(Double.random(in: Double.leastNormalMagnitude..<1, using: &generator)) : 1
  }
}

extension RateSegment {
  /// The time after which the rate amounts to so many calls.
  fileprivate func time(of calls: Double) -> Duration {
    guard calls > 0 else { return .zero }
    let slope = (to - from) / duration.inSeconds
    let seconds = 2 * calls / (from + max(0, from * from + 2 * slope * calls).squareRoot())
    return .nanoseconds(Int64((seconds * 1e9).rounded()))
  }
}
