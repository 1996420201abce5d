// The open streams of one kind: bounded in number, and listed so that news reaches all of them.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec

/// A stream that can be ended to make room for another.
protocol OpenStream: AnyObject, Sendable {
  associatedtype Response: WireMessage

  var exchange: StreamExchange<Response> { get }
  /// Refuses what is left of the call. Called on its event loop, also after its end.
  func leave(_ error: RequestError)
}

/// `EvictingPlaces` behind a lock. `Member` serves one stream, and the streams of one `Owner` are counted together.
final class OpenStreams<Member: OpenStream, Owner: Hashable & Sendable>: Sendable {
  typealias Places = EvictingPlaces<Member, Owner, Owner>

  private struct State: Sendable {
    var places: Places
    var isDraining = false
  }

  private let state: Mutex<State>
  private let limits: Places.Limits
  private let ownerOfCaller: @Sendable (String) -> Owner

  /// - Parameter ownerOfCaller: counts the streams of a caller, by its name.
  init(_ limits: Places.Limits, ownerOfCaller: @escaping @Sendable (String) -> Owner) {
    self.limits = limits
    self.ownerOfCaller = ownerOfCaller
    state = Mutex(State(places: Places(limits)))
  }

  var all: [Member] { state.withLock { $0.places.members } }

  /// Throws, and keeps nothing, if there are too many. May end another stream.
  ///
  /// - Parameter subject: the owner as the error names it.
  func add(_ member: Member, of owner: Owner, _ subject: RequestError.Quota.Subject) throws(RequestError) {
    let arrival = state.withLock { state -> Places.OnArrival? in
      if state.isDraining { return nil }
      state.places.review { $0.exchange.stream.admittedCaller.map(ownerOfCaller) }
      let isStranger = member.exchange.stream.admittedCaller == nil
      return isStranger ? state.places.arrived(member, in: owner) : state.places.arrived(member, of: owner)
    }
    switch arrival {
    case nil: throw .draining
    case .admit: break
    case .admitEnding(_, let ended): ended.member.exchange.onLoop { ended.member.leave(.madeRoom) }
    case .refuse(.owner): throw .tooManyStreams(of: subject, limit: limits.perCaller)
    case .refuse(.all): throw .tooManyStreams(of: .server, limit: limits.all)
    }
    member.exchange.stream.onConnectionLeaving { [weak member] in member?.leave(.connectionLeaving) }
  }

  func remove(_ member: Member) {
    state.withLock { state in state.places.left { $0 === member } }
  }

  /// Accepts no more streams, and ends the open ones.
  func drain() {
    state.withLock { $0.isDraining = true }
    for member in all { member.exchange.onLoop { member.leave(.draining) } }
  }
}

extension RequestError.Reason {
  static let tooManyStreams = "TOO_MANY_STREAMS"
}

extension RequestError {
  fileprivate static let draining = RequestError(
    code: .unavailable, message: "the server is draining; try another one")
  fileprivate static let connectionLeaving = RequestError(
    code: .unavailable, message: "the connection has reached its end; call again on another one")
  fileprivate static let madeRoom = RequestError(
    code: .unavailable, message: "another caller needs the place of this call; call again")

  fileprivate static func tooManyStreams(of subject: Quota.Subject, limit: Int) -> RequestError {
    RequestError(
      code: .resourceExhausted, message: "too many calls of this method are open", reason: Reason.tooManyStreams,
      quota: Quota(subject: subject, limit: "at most \(limit) open calls of this method"))
  }
}
