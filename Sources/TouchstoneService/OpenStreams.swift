// The streams of one kind that are open: so many and no more, and all of them known to whoever has news for them.

internal import DispatchRPC
internal import Synchronization

/// `Member`: whatever serves one stream. `Owner`: whose streams are counted together.
final class OpenStreams<Member: AnyObject & Sendable, Owner: Hashable & Sendable>: Sendable {
  private struct State: Sendable {
    var members: [ObjectIdentifier: (member: Member, owner: Owner)] = [:]
    var isDraining = false
  }

  private let state = Mutex(State())
  private let limit: Int
  private let limitPerOwner: Int

  init(limit: Int, limitPerOwner: Int) {
    self.limit = limit
    self.limitPerOwner = limitPerOwner
  }

  var all: [Member] { state.withLock { $0.members.values.map(\.member) } }

  /// Throws, and keeps nothing, where there are too many.
  ///
  /// - Parameter subject: what the owner is told it is.
  func add(_ member: Member, of owner: Owner, _ subject: RequestError.Quota.Subject) throws(RequestError) {
    let refusal = state.withLock { state -> RequestError? in
      if state.isDraining { return .draining }
      let ofOwner = state.members.values.count { $0.owner == owner }
      if ofOwner >= limitPerOwner { return .tooManyStreams(of: subject, limit: limitPerOwner) }
      if state.members.count >= limit { return .tooManyStreams(of: .server, limit: limit) }
      state.members[ObjectIdentifier(member)] = (member, owner)
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

  fileprivate static func tooManyStreams(of subject: Quota.Subject, limit: Int) -> RequestError {
    RequestError(
      code: .resourceExhausted, message: "too many calls of this method are open", reason: Reason.tooManyStreams,
      quota: Quota(subject: subject, limit: "at most \(limit) open calls of this method"))
  }
}
