// The rules for the streams and sizes of header blocks (RFC 9113 §5.1.1, §6.5.2). Pure.

/// Follows one connection's header blocks, of which one comes at a time.
struct HeaderBlockRules {
  /// A header list this many times the announced limit is a bomb: it ends the connection, and with it the decoding.
  private static let bombFactor = 4

  /// As announced.
  let limitBytes: Int
  /// The highest that came.
  private var lastStreamID: Int32 = 0
  /// Closed by the highest without ever having been open (RFC 9113 §5.1.1): nghttp2 takes HEADERS of theirs for trailers of a stream
  /// that it no longer knows. The latest ones are enough, as clients leave out none.
  private var skippedStreams: Range<Int32> = 0..<0
  /// The size of the block that is coming in.
  private var blockBytes = 0

  init(limitBytes: Int) {
    self.limitBytes = limitBytes
  }

  enum OnBlock: Equatable {
    case newStream
    /// Trailers, or a block on a stream that is closed.
    case knownStream
    /// A stream that a higher one has closed.
    case skippedStream
  }

  @inline(__always)
  mutating func begin(stream id: Int32) -> OnBlock {
    blockBytes = 0
    if id > lastStreamID {
      if id - lastStreamID > 2 { skippedStreams = lastStreamID + 1..<id }
      lastStreamID = id
      return .newStream
    }
    return skippedStreams.contains(id) ? .skippedStream : .knownStream
  }

  enum OnField: Equatable {
    case accepted
    /// The first field that does not fit.
    case exceedsLimit
    case isBomb
  }

  /// - Parameter bytes: as `RequestHead.listBytes` counts them.
  @inline(__always)
  mutating func add(fieldOf bytes: Int) -> OnField {
    let before = blockBytes
    blockBytes += bytes
    if blockBytes <= limitBytes { return .accepted }
    if blockBytes > limitBytes * Self.bombFactor { return .isBomb }
    return before <= limitBytes ? .exceedsLimit : .accepted
  }
}
