internal import Glibc

/// The seeds of a random test: 1 to so many if TOUCHSTONE_ALL_SEEDS is 1, as in CI, or else the first eighth of them,
/// so that `make test` ends soon.
public func seeds(ofAll count: UInt64) -> ClosedRange<UInt64> {
  1...(areAllWanted ? count : max(1, count / 8))
}

private let areAllWanted = getenv("TOUCHSTONE_ALL_SEEDS").map { String(cString: $0) } == "1"
