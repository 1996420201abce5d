/// One running unary call. Answer it exactly once with `respond` or `fail`, from any thread and at any time; the first
/// answer wins, and an answer to a call that is gone does nothing.
public final class RPCServerCall: RPCServerContext, EventLoopJob, @unchecked Sendable {
  // Sendable because: `posted` is set once, by the thread that wins the mark `answered`, and read on the event loop
  // that the call is then posted to. The rest is inherited.

  /// An answer on its way from another thread.
  private var posted: RPCServerAnswer?

  /// Metadata that does not fit into header lists of 8 KiB each is left out.
  public func respond(
    _ message: [UInt8], initialMetadata: Metadata = Metadata(), trailingMetadata: Metadata = Metadata()
  ) {
    answer(.message(message, initial: initialMetadata, trailing: trailingMetadata))
  }

  /// An error with code OK is a mistake in the handler; the client is told UNKNOWN.
  public func fail(_ error: RPCError) {
    answer(.error(error))
  }

  /// From now until `stopWaiting` the handler only waits for its turn, in a queue that its owner bounds and keeps fair.
  /// The call takes no room from others meanwhile (`RPCServerConfiguration.maxRunningCallsPerLoop`), and that limit
  /// does not measure the time of its answer. Otherwise one client whose calls wait would have all others refused. From
  /// any thread.
  public func startWaiting() { noteWaiting() }

  public func stopWaiting() { noteTurn() }

  private func answer(_ answer: RPCServerAnswer) {
    let before = mark([.answered, .handled])
    noteHandled(before)
    guard !before.contains(.answered) else { return }
    if loop.isCurrent {
      deliver(answer)
    } else {
      posted = answer
      loop.execute(self)
    }
  }

  package func run() {
    guard let answer = posted else { return }
    posted = nil
    deliver(answer)
  }

  /// On the event loop only.
  private func deliver(_ answer: RPCServerAnswer) {
    guard let stream else { return }
    if !loadMarks().contains(.hasWaited) {
      connection.server.callAnswered(begun: stream.pointee.since, to: stream.pointee.head.route)
    }
    detach()
    connection.send(answer, on: stream)
  }
}

enum RPCServerAnswer: Sendable {
  case message([UInt8], initial: Metadata, trailing: Metadata)
  case error(RPCError)
}
