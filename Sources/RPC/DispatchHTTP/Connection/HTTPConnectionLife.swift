internal import DispatchRPC

/// All times of one connection, and how many requests it may bring. The connection waits for one thing at a time, and
/// for each only so long. Pure; time is an argument.
struct HTTPConnectionLife {
  enum Wait: Equatable {
    case handshake
    /// The first byte of the next request.
    case request
    case head
    case body
    /// A handler, which is ours: without a deadline, unless the client sets one (`setHandlersDeadline`).
    case handler
    /// The client, which is to take the answer.
    case answerTaken
    /// The client, which is to close.
    case end
  }

  enum OnTime: Equatable {
    case nothing
    /// Tell the client, and end the connection.
    case answerTooSlow
    /// The client waits for its handler no longer.
    case answerForHandler
    case close
  }

  private let limits: HTTPServerLimits
  private var wait: Wait
  private(set) var deadline: MonotonicTime?
  private var requests = 0
  /// No request has come yet: a client that connects and sends nothing is as slow as one that sends half a head.
  private var isNew = true

  init(_ limits: HTTPServerLimits, isEncrypted: Bool, acceptedAt now: MonotonicTime) {
    self.limits = limits
    wait = isEncrypted ? .handshake : .head
    deadline = now.advanced(by: isEncrypted ? limits.handshakeTime : limits.headTime)
  }

  /// The deadline counts from the first call for the same thing.
  mutating func begin(_ next: Wait, at now: MonotonicTime) {
    let next = next == .request && isNew ? .head : next
    guard next != wait else { return }
    wait = next
    let time: Duration? =
      switch next {
      case .handshake: limits.handshakeTime
      case .request: limits.idleTime
      case .head: limits.headTime
      case .body: limits.bodyTime
      case .handler: nil
      case .answerTaken: limits.answerTime
      case .end: limits.lingeringTime
      }
    deadline = time.map { now.advanced(by: $0) }
  }

  mutating func setHandlersDeadline(_ deadline: MonotonicTime) {
    if wait == .handler { self.deadline = deadline }
  }

  /// A head is whole. Returns true if the connection ends after the answer, because it has brought enough.
  mutating func requestCame() -> Bool {
    isNew = false
    requests += 1
    return requests >= limits.requestsPerConnection
  }

  func timePassed(to now: MonotonicTime) -> OnTime {
    guard let deadline, deadline <= now else { return .nothing }
    switch wait {
    case .head, .body: return .answerTooSlow
    case .handler: return .answerForHandler
    case .handshake, .request, .answerTaken, .end: return .close
    }
  }
}
