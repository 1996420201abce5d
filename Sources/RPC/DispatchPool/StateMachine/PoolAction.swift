/// The work for the shell after a transition of `PoolStateMachine`, in any order.
struct PoolAction: Equatable {
  /// For the request that the event was about.
  enum Request: Equatable {
    case none
    case grant(ConnectionID)
    /// It waits, under this name.
    case enqueue(RequestID)
    case refuse(PoolError)
  }

  /// For a request that was waiting.
  struct Answer: Equatable {
    let request: RequestID
    let result: Result<ConnectionID, PoolError>
  }

  enum Timer: Equatable {
    case none
    /// Forget any earlier setting; call `timerFired` then.
    case set(MonotonicTime)
  }

  var request = Request.none
  var answers: [Answer] = []
  /// Make and connect.
  var open: [ConnectionID] = []
  var close: [ConnectionID] = []
  var timer = Timer.none
  /// The target should be resolved soon: nothing is known, or what is known may be outdated.
  var asksForEndpoints = false
  /// The drain is over.
  var completesDrain = false
}
