/// Bytes that the server sent on a connection and that its callers have not read yet. Shared by a connection and its
/// streams; confined to their event loop.
final class UnreadBudget {
  private struct EndedStream {
    weak var stream: RPCClientStream?
  }

  private let limit: Int
  private(set) var held = 0
  /// By their identifiers: streams that the connection is done with, and that still hold something.
  private var ended: [Int32: EndedStream] = [:]

  init(limit: Int) {
    self.limit = limit
  }

  var isExceeded: Bool { held > limit }

  /// - Parameter change: negative when something was read or dropped.
  func change(by change: Int) {
    held += change
  }

  /// The server has ended it before its caller has read all.
  func hasEnded(_ stream: RPCClientStream, id: Int32) {
    ended[id] = EndedStream(stream: stream)
  }

  /// It holds nothing any more.
  func forget(_ id: Int32) {
    ended[id] = nil
  }

  /// The ended stream that holds the most.
  var greediestEnded: RPCClientStream? {
    ended.values.lazy.compactMap(\.stream).max { $0.unreadBytes < $1.unreadBytes }
  }
}
