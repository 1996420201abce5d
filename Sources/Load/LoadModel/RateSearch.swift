/// The search for the highest rate that meets the objectives: doubles the rate until it is too much, then halves the
/// gap until it is within 5 %.
package struct RateSearch: Sendable {
  /// The highest rate that met the objectives, and the lowest that did not.
  package private(set) var met: Double?
  package private(set) var missed: Double?
  private var next: Double

  private static let precision = 1.05
  /// A first rate that is too much is halved down to here.
  private static let minimumRate = 1.0

  package init(from rate: Double) {
    next = max(rate, Self.minimumRate)
  }

  /// The rate to try, or `nil` at the end of the search.
  package var trial: Double? {
    if let met, let missed, missed <= max(met * Self.precision, met + 1) { return nil }
    if met == nil, let missed, missed <= Self.minimumRate { return nil }
    if let met, met >= LoadShape.maximumRate { return nil }
    return next
  }

  package mutating func record(_ rate: Double, isMet: Bool) {
    if isMet { met = max(met ?? 0, rate) } else { missed = min(missed ?? .infinity, rate) }
    next =
      switch (met, missed) {
      case (let met?, let missed?): ((met + missed) / 2).rounded()
      case (let met?, nil): min(met * 2, LoadShape.maximumRate)
      case (nil, let missed?): max((missed / 2).rounded(), Self.minimumRate)
      case (nil, nil): next
      }
  }
}
