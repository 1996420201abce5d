// A unary call as its handler sees it: the context of every call, and the one answer.

/// One running unary call. Answer it exactly once with `respond` or `fail`, from any thread and at any time; the first answer
/// wins, and an answer to a call that is gone does nothing.
public final class RPCServerCall: RPCServerContext, @unchecked Sendable {
  // Sendable because: it adds nothing to what it inherits.

  /// Of the metadata, what does not fit into header lists of 8 KiB each is left out.
  ///
  /// - Parameter compression: where the client reads it; otherwise the answer goes out as it is.
  public func respond(
    _ message: [UInt8], initialMetadata: Metadata = Metadata(), trailingMetadata: Metadata = Metadata(),
    compression: RPCCompression = .identity
  ) {
    answer(.message(message, initial: initialMetadata, trailing: trailingMetadata, compression))
  }

  /// An error with code OK is a mistake in the handler; the client is told UNKNOWN.
  public func fail(_ error: RPCError) {
    answer(.error(error))
  }

  private func answer(_ answer: RPCServerAnswer) {
    let before = mark([.answered, .handled])
    noteHandled(before)
    guard !before.contains(.answered) else { return }
    if shard.isCurrent {
      deliver(answer)
    } else {
      shard.post(.answer(self, answer))
    }
  }

  /// On the shard only.
  func deliver(_ answer: RPCServerAnswer) {
    guard let stream else { return }
    connection.server.callAnswered(begun: stream.pointee.since, to: stream.pointee.head.route)
    detach()
    connection.send(answer, on: stream)
  }
}

enum RPCServerAnswer: Sendable {
  case message([UInt8], initial: Metadata, trailing: Metadata, RPCCompression)
  case error(RPCError)
}
