/// Factors without an order.
struct FactorSet: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  init(_ factor: Factor) {
    rawValue = 1 << factor.rawValue
  }

  var count: Int { rawValue.nonzeroBitCount }

  func contains(_ factor: Factor) -> Bool {
    contains(FactorSet(factor))
  }
}
