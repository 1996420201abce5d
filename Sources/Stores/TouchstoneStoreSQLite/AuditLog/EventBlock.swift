// Blocks, by which the events of an application or a profile are found in a long log.

/// A fixed number of events in a row, indexed by block, application and profile. Appending touches only the few pages
/// of the block at the log's end, while an index by profile alone would touch one page for each event. A search queries
/// every block, in a few microseconds each.
enum EventBlock {
  private static let sizeExponent: UInt64 = 8

  /// The SQL expression; a query must have the same text as the index.
  static let expression = "sequence >> \(sizeExponent)"

  /// The number of the last event that a block can hold.
  static func end(of block: UInt64) -> UInt64 { ((block + 1) << sizeExponent) - 1 }

  /// The numbers of the blocks with the events after `start`, up to `end`.
  static func numbers(after start: UInt64, through end: UInt64) -> Range<UInt64> {
    start < end ? (start + 1) >> sizeExponent..<(end >> sizeExponent) + 1 : 0..<0
  }
}
