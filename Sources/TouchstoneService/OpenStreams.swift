// The streams of one kind that are open: so many and no more, and all of them known to whoever has news for them.

internal import DispatchRPC
internal import Synchronization
internal import TouchstonePolicy

/// `Member`: whatever serves one stream.
final class OpenStreams<Member: AnyObject & Sendable>: Sendable {
  private struct State: Sendable {
    var members: [ObjectIdentifier: (member: Member, caller: Caller)] = [:]
    var isDraining = false
  }

  private let state = Mutex(State())
  private let limit: Int
  private let limitPerCaller: Int

  init(limit: Int, limitPerCaller: Int) {
    self.limit = limit
    self.limitPerCaller = limitPerCaller
  }

  var all: [Member] { state.withLock { $0.members.values.map(\.member) } }

  /// Throws, and keeps nothing, where there are too many.
  func add(_ member: Member, of caller: Caller) throws(RequestError) {
    let refusal = state.withLock { state -> RequestError? in
      if state.isDraining { return .draining }
      let ofCaller = state.members.values.count { Identifier.areEqual($0.caller.identity, caller.identity) }
      guard state.members.count < limit, ofCaller < limitPerCaller else { return .tooManyStreams }
      state.members[ObjectIdentifier(member)] = (member, caller)
      return nil
    }
    if let refusal { throw refusal }
  }

  func remove(_ member: Member) {
    state.withLock { _ = $0.members.removeValue(forKey: ObjectIdentifier(member)) }
  }

  /// From now on none is added. Those that are open are for the asker to end.
  func drain() -> [Member] {
    state.withLock { $0.isDraining = true }
    return all
  }
}

extension RequestError.Reason {
  static let tooManyStreams = "TOO_MANY_STREAMS"
}

extension RequestError {
  static let draining = RequestError(code: .unavailable, message: "the server is about to leave; try another one")

  fileprivate static let tooManyStreams = RequestError(
    code: .resourceExhausted, message: "too many calls of this method are open", reason: Reason.tooManyStreams)
}
