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

/// Whose streams are counted together.
enum StreamOwner: Hashable {
  /// By name, which is ASCII.
  case caller(String)
  /// Callers behind one proxy share its address, so only strangers are counted by it.
  case strangers(SocketAddress)

  /// The owner as an error names it.
  fileprivate var subject: RequestError.Quota.Subject {
    switch self {
    case .caller(let name): .caller(Caller(identity: name))
    case .strangers: .peer
    }
  }
}

/// `EvictingPlaces` behind a lock. `Member` serves one stream.
final class OpenStreams<Member: OpenStream>: Sendable {
  typealias Places = EvictingPlaces<Member, StreamOwner, StreamOwner>

  private struct State: Sendable {
    var places: Places
    var isDraining = false
  }

  private let state: Mutex<State>
  private let limits: Places.Limits

  init(_ limits: Places.Limits) {
    self.limits = limits
    state = Mutex(State(places: Places(limits)))
  }

  var all: [Member] { state.withLock { $0.places.members } }

  /// Throws, and keeps nothing, if there are too many. May end another stream.
  func add(_ member: Member, of owner: StreamOwner) throws(RequestError) {
    let arrival = state.withLock { state -> Places.OnArrival? in
      if state.isDraining { return nil }
      state.places.review { $0.exchange.stream.admittedCaller.map(StreamOwner.caller) }
      let isStranger = member.exchange.stream.admittedCaller == nil
      return isStranger ? state.places.arrived(member, in: owner) : state.places.arrived(member, of: owner)
    }
    switch arrival {
    case nil: throw .draining
    case .admit: break
    case .admitEnding(_, let ended): ended.member.exchange.onLoop { ended.member.leave(.madeRoom) }
    case .refuse(.owner): throw .tooManyStreams(of: owner.subject, limit: limits.perCaller)
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
