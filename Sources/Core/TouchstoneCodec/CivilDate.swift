// Dates of the Gregorian calendar, in UTC.

package struct CivilDate: Equatable, Sendable {
  package let year: Int64
  package let month: Int64
  package let day: Int64

  /// Counts years from March on, so that the leap day is a year's last, and in eras of 400 years.
  ///
  /// - Parameter days: since 1970-01-01; negative before.
  package init(daysSince1970 days: Int64) {
    let (era, ofEra) = (days + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * ofYear + 2) / 153
    month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = ofYear - (153 * fromMarch + 2) / 5 + 1
  }
}

extension Int64 {
  /// Rounds down, so that the rest is not negative.
  package func dividedDown(by divisor: Int64) -> (quotient: Int64, rest: Int64) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}
