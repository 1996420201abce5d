// What a connection's calls hold of what the server sent and nobody has read yet.

/// Shared by a connection and its streams; confined to their shard.
final class UnreadBudget {
  private let limit: Int
  private(set) var held = 0

  init(limit: Int) {
    self.limit = limit
  }

  var isExceeded: Bool { held > limit }

  /// - Parameter change: negative when something was read or dropped.
  func change(by change: Int) {
    held += change
  }
}
