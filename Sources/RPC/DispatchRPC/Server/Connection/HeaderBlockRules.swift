/// Follows one connection's header blocks, of which one comes at a time: the rules for their streams and sizes (RFC
/// 9113 §5.1.1, §6.5.2). Pure.
struct HeaderBlockRules {
  /// A header list this many times the announced limit is a bomb: it ends the connection, and with it the decoding. No
  /// list is so large without repeating indexed fields: nghttp2 takes 144 KiB in frames of a block, and Huffman's code
  /// makes 230 KiB of them at most.
  private static let bombFactor = 16
  /// Beyond the limit, each such multiple of it costs the client as much as an invalid frame, so that decoding is
  /// bounded, too.
  private static let costFactor = 4

  /// As announced.
  let limitBytes: Int
  /// The highest that came.
  private var lastStreamID: Int32 = 0
  /// Closed by the highest without ever having been open (RFC 9113 §5.1.1): nghttp2 takes HEADERS of theirs for
  /// trailers of a stream that it no longer knows. The latest ones are enough, as clients leave out none.
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
    /// The first field that does not fit, or one of many more bytes that are decoded for nothing.
    case costs
    case isBomb
  }

  /// - Parameter bytes: as `RequestHead.listBytes` counts them.
  @inline(__always)
  mutating func add(fieldOf bytes: Int) -> OnField {
    let before = blockBytes
    blockBytes += bytes
    if blockBytes <= limitBytes { return .accepted }
    if blockBytes > limitBytes * Self.bombFactor { return .isBomb }
    let cost = limitBytes * Self.costFactor
    return before <= limitBytes || before / cost < blockBytes / cost ? .costs : .accepted
  }
}
