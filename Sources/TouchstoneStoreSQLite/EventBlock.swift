// How the events of an application or a profile are found in a long log.

/// So many events in a row. They are indexed by block, application and profile: appending then touches the few pages
/// of the block at the log's end, whoever's event it is, where an index by profile alone would touch a page for each. A
/// search asks every block, in a few microseconds each.
enum EventBlock {
  private static let sizeExponent: UInt64 = 8

  /// In SQL; a query must say it as the index does.
  static let expression = "sequence >> \(sizeExponent)"

  /// The number of the last event that a block can hold.
  static func end(of block: UInt64) -> UInt64 { ((block + 1) << sizeExponent) - 1 }

  /// Of the blocks that hold the events after `start`, up to `end`.
  static func numbers(after start: UInt64, through end: UInt64) -> Range<UInt64> {
    start < end ? (start + 1) >> sizeExponent..<(end >> sizeExponent) + 1 : 0..<0
  }
}
