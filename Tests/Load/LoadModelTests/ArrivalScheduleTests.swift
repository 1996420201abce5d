import LoadModel
import TestSupport
import Testing

@Suite("Arrivals")
struct ArrivalScheduleTests {
  private static func arrivals(_ shape: LoadShape, _ span: Duration, seed: UInt64 = 1) -> [Duration] {
    Array(ArrivalSchedule(shape.segments(over: span), isPoisson: shape.isPoisson, using: SeededGenerator(seed: seed)))
  }

  @Test("Even gaps give exactly rate times duration, from the first instant on, before the end")
  func constant() {
    let arrivals = Self.arrivals(LoadShape(.constant(200)), .seconds(6))
    #expect(arrivals.count == 1_200)
    #expect(arrivals.first == .zero)
    #expect(arrivals[201].inMicroseconds == 1_005_000)
    #expect(arrivals.allSatisfy { $0 < .seconds(6) })
  }

  @Test("No rounding adds or loses a call", arguments: [(0.1, 30), (3.3, 10), (7, 7), (333.3, 3), (99_999, 1)])
  func rounding(rate: Double, seconds: Int) {
    let arrivals = Self.arrivals(LoadShape(.constant(rate)), .seconds(seconds))
    #expect(arrivals.count == Int((rate * Double(seconds)).rounded(.up)))
  }

  @Test("Each shape amounts to its rates")
  func shapes() {
    let span = Duration.seconds(10)
    #expect(Self.arrivals(LoadShape(.steps([100, 200])), span).count == 1_500)
    #expect(Self.arrivals(LoadShape(.ramp(from: 0, to: 200)), span).count == 1_000)
    #expect(Self.arrivals(LoadShape(.ramp(from: 200, to: 0)), span).count == 1_000)
    #expect(Self.arrivals(LoadShape(.spike(base: 100, peak: 1_000)), span).count == 2_800)
    #expect(Self.arrivals(.closed, span).isEmpty)
  }

  @Test("Each part of a shape has its own rate")
  func parts() {
    let spike = Self.arrivals(LoadShape(.spike(base: 100, peak: 1_000)), .seconds(10))
    #expect(spike.count { $0 >= .seconds(4) && $0 < .seconds(6) } == 2_000)
    let ramp = Self.arrivals(LoadShape(.ramp(from: 0, to: 200)), .seconds(10))
    #expect(ramp.count { $0 < .seconds(5) } == 250)
  }

  @Test(
    "Due times never go back", arguments: ["ramp:0-500", "ramp:500-0", "steps:10,0,300", "spike:5-800", "poisson:300"])
  func order(text: String) throws {
    let arrivals = Self.arrivals(try #require(LoadShape(text)), .seconds(8))
    #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(arrivals.allSatisfy { $0 >= .zero && $0 < .seconds(8) })
  }

  @Test("Random gaps have the rate's mean and an exponential's deviation", arguments: [1, 2, 3] as [UInt64])
  func poisson(seed: UInt64) throws {
    let arrivals = Self.arrivals(LoadShape(.constant(1_000), isPoisson: true), .seconds(20), seed: seed)
    // Five standard deviations.
    #expect((19_300...20_700).contains(arrivals.count))
    let gaps = zip(arrivals.dropFirst(), arrivals).map { ($0 - $1).inSeconds }
    let mean = gaps.reduce(0, +) / Double(gaps.count)
    let variance = gaps.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(gaps.count)
    #expect((0.9...1.1).contains(variance.squareRoot() / mean))
  }

  @Test(
    "A shape is read as it is written",
    arguments: ["closed", "constant:200", "steps:100,200.5,400", "ramp:100-1000", "spike:100-1000"])
  func spelling(text: String) throws {
    #expect(try #require(LoadShape(text)).description == text)
  }

  @Test(
    "What is no shape",
    arguments: [
      "", "constant", "constant:", "constant:x", "constant:0", "constant:-1", "ramp:100", "ramp:1-2-3", "steps:",
      "steps:1,,2", "spike:100", "closed:3", "square:100", "constant:1e9", "constant:nan",
    ])
  func noShapes(text: String) {
    #expect(LoadShape(text) == nil)
  }
}
