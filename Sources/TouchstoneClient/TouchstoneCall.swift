internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// A call that was begun, to cancel it.
public final class TouchstoneCall: Sendable {
  /// What the call waits for.
  enum Wait: Sendable {
    case stream(LeaseRequest)
    case answer(RPCClientCall)

    func cancel() {
      switch self {
      case .stream(let request): request.cancel()
      case .answer(let call): call.cancel()
      }
    }
  }

  private struct State {
    var isCancelled = false
    var wait: Wait?
    /// Counts the waits: one that is over by the time it is noted must not replace its successor.
    var step = 0
  }

  private let state = Mutex(State())

  /// The call ends with CANCELLED, unless it ends otherwise at the same time. The service is told.
  public func cancel() {
    let wait = state.withLock { state in
      state.isCancelled = true
      return state.wait
    }
    wait?.cancel()
  }

  var isCancelled: Bool {
    state.withLock { $0.isCancelled }
  }

  /// - Parameter step: grows with each wait of the call.
  func wait(for wait: Wait, step: Int) {
    let isCancelled = state.withLock { state in
      guard step > state.step else { return false }
      state.step = step
      state.wait = wait
      return state.isCancelled
    }
    if isCancelled { wait.cancel() }
  }
}
