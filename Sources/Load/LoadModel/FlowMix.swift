/// Flows with weights, and how long a person thinks after each. A call's number alone decides, so that a run can be
/// repeated.
///
/// The numbers' multiples of an irrational number, modulo 1, spread evenly: each flow has its part of any hundred
/// calls, as it would not with random numbers (M. Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences",
/// 2018).
package struct FlowMix: Sendable {
  package struct Flow: Hashable, Sendable {
    package var name: String
    /// Its part of all calls, in relation to the other flows' weights. More than 0.
    package var weight: Int
    /// In a closed loop, between the end of the call and the same person's next call.
    package var think: ClosedRange<Duration>

    package init(name: String, weight: Int = 1, think: ClosedRange<Duration> = .zero ... .zero) {
      (self.name, self.weight, self.think) = (name, weight, think)
    }
  }

  package let flows: [Flow]
  /// The end of each flow's part, where the next one begins, as a fraction of 2⁶⁴.
  private let ends: [UInt64]

  /// 2⁶⁴ divided by the plastic number, and by its square.
  private static let flowStep: UInt64 = 0xC13F_A9A9_02A6_328F
  private static let thinkStep: UInt64 = 0x91E1_0DA5_C79E_7B1D

  /// - Parameter flows: not empty.
  package init(_ flows: [Flow]) {
    precondition(!flows.isEmpty && flows.allSatisfy { $0.weight > 0 }, "a flow has a weight")
    self.flows = flows
    let unit = UInt64.max / UInt64(flows.reduce(0) { $0 + $1.weight })
    var total = 0
    ends = flows.map { flow in
      total += flow.weight
      return unit * UInt64(total)
    }
  }

  /// The index of the flow that the call with this number is.
  package func flow(of number: Int) -> Int {
    guard flows.count > 1 else { return 0 }
    let position = UInt64(number) &* Self.flowStep
    return ends.firstIndex { position < $0 } ?? flows.count - 1
  }

  package func thinkTime(after number: Int) -> Duration {
    let think = flows[flow(of: number)].think
    guard think.upperBound > .zero else { return .zero }
    let position = Double(UInt64(number) &* Self.thinkStep) / 0x1p64
    return think.lowerBound + (think.upperBound - think.lowerBound) * position
  }
}
