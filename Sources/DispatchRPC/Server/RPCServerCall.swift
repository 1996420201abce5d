// A call as its handler sees it: who calls, until when, and the one answer.

import Synchronization

/// Why nobody waits for a call's answer any more.
public enum RPCCancellation: Hashable, Sendable {
  /// Its deadline passed; the client was told DEADLINE_EXCEEDED.
  case deadline
  /// The client reset the stream.
  case reset
  case connectionLost
}

/// One running unary call. Answer it exactly once with `respond` or `fail`, from any thread and at any time; the first answer
/// wins, and an answer to a call that is gone does nothing.
public final class RPCServerCall: @unchecked Sendable {
  // Sendable because: the constants are constant, `marks` is atomic, the rest is touched only on the shard.

  private struct Marks: OptionSet {
    let rawValue: UInt8
    /// Some answer was taken, by the handler or by the deadline.
    static let answered = Marks(rawValue: 1)
    /// The handler has answered: it no longer counts as running.
    static let handled = Marks(rawValue: 2)
    static let cancelled = Marks(rawValue: 4)
  }

  /// `/package.Service/Method`.
  public let path: String
  /// From `grpc-timeout`; enforced by the server.
  public let deadline: MonotonicTime?

  let connection: ServerConnection
  private let encodedMetadata: EncodedMetadata
  private let marks = Atomic<UInt8>(0)
  /// On the shard only; `nil` once the call is answered or its stream gone.
  private var stream: UnsafeMutablePointer<ServerStream>?
  private var cancelHandler: (@Sendable (RPCCancellation) -> Void)?
  private var cancellation: RPCCancellation?

  init(
    path: String, deadline: MonotonicTime?, metadata: EncodedMetadata, connection: ServerConnection,
    stream: UnsafeMutablePointer<ServerStream>
  ) {
    self.path = path
    self.deadline = deadline
    self.encodedMetadata = metadata
    self.connection = connection
    self.stream = stream
    connection.server.runningCalls.add(1, ordering: .relaxed)
  }

  deinit {
    noteHandled(mark(.handled))
  }

  public var shard: RPCShard { connection.shard }
  public var peer: SocketAddress { connection.peer }
  /// Decoded anew each time: keep it rather than ask twice.
  public var metadata: Metadata { encodedMetadata.decoded() }
  /// The first text of this name, which is in lower case: without decoding the rest.
  public func metadata(_ name: String) -> String? { encodedMetadata.decoded(name).first(name) }
  public var isCancelled: Bool { Marks(rawValue: marks.load(ordering: .acquiring)).contains(.cancelled) }

  /// `body` runs once on the shard when the call is cancelled before it was answered; at once if it already was. A second
  /// one replaces the first.
  public func onCancel(_ body: @escaping @Sendable (RPCCancellation) -> Void) {
    guard shard.isCurrent else {
      shard.execute { self.onCancel(body) }
      return
    }
    if let cancellation {
      body(cancellation)
    } else if stream != nil {
      cancelHandler = body
    }
  }

  /// Of the metadata, what does not fit into header lists of 8 KiB each is left out.
  public func respond(
    _ message: [UInt8], initialMetadata: Metadata = Metadata(), trailingMetadata: Metadata = Metadata()
  ) {
    answer(.message(message, initial: initialMetadata, trailing: trailingMetadata))
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

  /// The marks before.
  private func mark(_ marks: Marks) -> Marks {
    Marks(rawValue: self.marks.bitwiseOr(marks.rawValue, ordering: .acquiringAndReleasing).oldValue)
  }

  private func noteHandled(_ before: Marks) {
    if !before.contains(.handled) { connection.server.runningCalls.subtract(1, ordering: .relaxed) }
  }
}

enum RPCServerAnswer: Sendable {
  case message([UInt8], initial: Metadata, trailing: Metadata)
  case error(RPCError)
}

// MARK: - On the shard only

extension RPCServerCall {
  func deliver(_ answer: RPCServerAnswer) {
    guard let stream else { return }
    detach()
    connection.send(answer, on: stream)
  }

  /// The deadline passed. True when it is for the server to answer; false when the handler's answer is on its way.
  func expire() -> Bool {
    guard !mark(.answered).contains(.answered) else { return false }
    cancel(.deadline)
    return true
  }

  /// The stream is gone, or about to be forgotten. The handler hears of it outside of nghttp2's callbacks.
  func cancel(_ reason: RPCCancellation) {
    guard cancellation == nil, stream != nil else { return }
    cancellation = reason
    _ = mark(.cancelled)
    guard let cancelHandler else { return }
    self.cancelHandler = nil
    shard.execute { cancelHandler(reason) }
  }

  func detach() {
    stream = nil
    cancelHandler = nil
  }
}
