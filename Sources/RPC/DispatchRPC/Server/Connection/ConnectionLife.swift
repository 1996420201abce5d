/// The life of one connection, all of its times in one machine: its handshake, its keepalive, its age and idleness, its
/// drain, the end of its client's certificate. Pure; time is an argument.
///
/// The owner reports what happens, and performs the steps that `timePassed` returns until it returns the next deadline.
struct ConnectionLife {
  struct Bounds {
    var handshakeTimeout: Duration
    /// How often a connection with streams is looked after.
    var lookInterval: Duration
    var keepaliveInterval: Duration
    var keepaliveTimeout: Duration
    var idleTimeout: Duration
    var maxAge: Duration?
    var ageGrace: Duration?
    var certificateGrace: Duration
    var drainWarningTime: Duration
  }

  /// A certificate ends by the wall clock, which may be set meanwhile.
  static let certificateCheckInterval = Duration.seconds(60 * 60)

  enum Step: Equatable {
    /// Look for streams that stall, and, if there are none, give up what an idle connection does not need.
    case look
    /// Send GOAWAY(2^31-1) and a PING.
    case warn
    /// Send GOAWAY with the last stream that was taken up.
    case refuseNewStreams
    /// Send a keepalive PING.
    case probe
    /// See how long the client's certificate is still valid, and report it with `certificateIsValid`.
    case checkCertificate
    case close(Ending)
  }

  enum Ending: String {
    case noPreface = "no HTTP/2 preface in time"
    case ageGraceOver = "the connection's grace is over"
    case graceOver = "the grace for its calls is over"
    case silent = "the client does not answer a keepalive PING"
    case goingAway = "the server is going away"
  }

  /// How far the client is asked to leave without losing a call (RFC 9113 §6.8). nghttp2 ends the connection once the
  /// last word is out and no stream is left.
  private enum Leaving {
    case serving
    /// GOAWAY(2^31-1) and a PING are out: what the client sent before it saw them is still taken.
    case warned
    case refusing
  }

  private let lookInterval: Duration
  private let certificateGrace: Duration
  private let drainWarningTime: Duration
  /// `.distantFuture` once the client's SETTINGS came.
  private var handshakeDue: MonotonicTime
  private var hasBegun = false
  /// `nil` while there are streams.
  private var idleSince: MonotonicTime?
  private var nextLook = MonotonicTime.distantFuture
  private var leaving = Leaving.serving
  private var warningEnds = MonotonicTime.distantFuture
  private var graceEnds = MonotonicTime.distantFuture
  private var nextCertificateCheck = MonotonicTime.distantFuture
  private var isCertificateOver = false
  private var keepalive: KeepaliveStateMachine
  var term: ConnectionTerm

  init(_ bounds: Bounds, acceptedAt: MonotonicTime, jitter: ConnectionTerm.Jitter) {
    lookInterval = bounds.lookInterval
    certificateGrace = bounds.certificateGrace
    drainWarningTime = bounds.drainWarningTime
    handshakeDue = acceptedAt.advanced(by: bounds.handshakeTimeout)
    idleSince = acceptedAt
    keepalive = KeepaliveStateMachine(
      interval: bounds.keepaliveInterval, timeout: bounds.keepaliveTimeout, withoutCalls: true, now: acceptedAt)
    term = ConnectionTerm(
      maxAge: bounds.maxAge, ageGrace: bounds.ageGrace, idleTimeout: bounds.idleTimeout, acceptedAt: acceptedAt,
      jitter: jitter)
  }

  /// False once the client's certificate is over: streams that were open end well, but none begins.
  var takesStreams: Bool { !isCertificateOver }
  /// The client knows that new streams are refused.
  var isRefusing: Bool { leaving == .refusing }
  var canCertificateEnd: Bool { hasBegun && !isCertificateOver }

  // MARK: Time

  enum OnTime: Equatable {
    /// Perform this, and call again.
    case step(Step)
    /// Nothing is due before then, unless something happens.
    case wait(until: MonotonicTime)
  }

  /// At the time that the last call named, or at any other. `isBlocked`: the client's socket takes nothing.
  mutating func timePassed(to now: MonotonicTime, isBlocked: Bool) -> OnTime {
    if handshakeDue <= now { return .step(.close(.noPreface)) }
    guard hasBegun else { return .wait(until: handshakeDue) }
    if let step = dueStep(at: now, isBlocked: isBlocked) { return .step(step) }
    var next = min(handshakeDue, graceEnds, warningEnds, nextCertificateCheck)
    switch term.timerExpired(at: now, idleSince: idleSince) {
    case .wait(let until): next = min(next, until)
    case .drain: return leave(at: now).map(OnTime.step) ?? timePassed(to: now, isBlocked: isBlocked)
    case .close: return .step(.close(.ageGraceOver))
    }
    switch keepalive.timerExpired(at: now, hasCalls: idleSince == nil) {
    case .wait(let until): next = min(next, until)
    case .probe: return .step(.probe)
    case .giveUp: return .step(.close(.silent))
    }
    return .wait(until: min(next, nextLook))
  }

  private mutating func dueStep(at now: MonotonicTime, isBlocked: Bool) -> Step? {
    if graceEnds <= now { return .close(.graceOver) }
    if warningEnds <= now, let step = warningSeen() { return step }
    if nextCertificateCheck <= now {
      nextCertificateCheck = .distantFuture
      return .checkCertificate
    }
    if nextLook <= now || isBlocked && nextLook == .distantFuture {
      nextLook = idleSince == nil || isBlocked ? now.advanced(by: lookInterval) : .distantFuture
      return .look
    }
    return nil
  }

  // MARK: Events

  /// Bytes came.
  @inline(__always)
  mutating func received(at now: MonotonicTime) {
    keepalive.received(at: now)
  }

  /// The transport's handshake is done: HTTP/2 begins.
  mutating func begin() {
    hasBegun = true
  }

  mutating func settingsReceived() {
    handshakeDue = .distantFuture
  }

  /// True when the next deadline is sooner than before.
  @inline(__always)
  mutating func streamOpened(at now: MonotonicTime) -> Bool {
    idleSince = nil
    guard nextLook == .distantFuture else { return false }
    nextLook = now.advanced(by: lookInterval)
    return true
  }

  @inline(__always)
  mutating func lastStreamClosed(at now: MonotonicTime) {
    idleSince = now
  }

  /// The server asks the client to leave.
  mutating func leave(at now: MonotonicTime) -> Step? {
    guard hasBegun else { return .close(.goingAway) }
    guard leaving == .serving else { return nil }
    leaving = .warned
    warningEnds = now.advanced(by: drainWarningTime)
    return .warn
  }

  /// The client has acknowledged the warning's PING, or was waited for long enough.
  mutating func warningSeen() -> Step? {
    guard leaving == .warned else { return nil }
    leaving = .refusing
    warningEnds = .distantFuture
    return .refuseNewStreams
  }

  /// Ends the connection at `time`, however many calls still run. The earlier of two times counts.
  mutating func end(at time: MonotonicTime) {
    graceEnds = min(graceEnds, time)
  }

  /// The client has shown a certificate, which is valid for so long.
  mutating func certificateIsValid(for validity: Duration, at now: MonotonicTime) -> Step? {
    guard !isCertificateOver else { return nil }
    guard validity > .zero else { return certificateEnded(at: now) }
    nextCertificateCheck = now.advanced(by: min(validity, Self.certificateCheckInterval))
    return nil
  }

  /// The client may come again with another certificate; calls that run get a grace.
  mutating func certificateEnded(at now: MonotonicTime) -> Step? {
    isCertificateOver = true
    nextCertificateCheck = .distantFuture
    end(at: now.advanced(by: certificateGrace))
    return leave(at: now)
  }
}

extension ConnectionLife.Bounds {
  init(_ configuration: RPCServerConfiguration) {
    self.init(
      handshakeTimeout: configuration.handshakeTimeout, lookInterval: configuration.housekeepingInterval,
      keepaliveInterval: configuration.keepalive.interval, keepaliveTimeout: configuration.keepalive.timeout,
      idleTimeout: configuration.idleTimeout, maxAge: configuration.maxConnectionAge,
      ageGrace: configuration.maxConnectionAgeGrace, certificateGrace: configuration.certificateGrace,
      drainWarningTime: configuration.drainWarningTime)
  }
}

/// When a connection has lived or idled for long enough (gRFC A9): it is then asked to leave; over age it has a grace
/// for its calls. Pure; time and chance are arguments.
struct ConnectionTerm {
  /// Keeps connections that began together, as after a restart, from ending together.
  struct Jitter: Equatable {
    /// Parts of the duration, -0.1 to 0.1 each.
    var age: Double
    var idle: Double

    static let none = Jitter(age: 0, idle: 0)

    /// A9: 10 % either way.
    static func random() -> Jitter {
      Jitter(age: .random(in: -0.1...0.1), idle: .random(in: -0.1...0.1))
    }
  }

  private enum State {
    case serving
    case leaving(until: MonotonicTime)
  }

  private let dueByAge: MonotonicTime
  private let ageGrace: Duration?
  private let idleTimeout: Duration
  private var state = State.serving

  /// Without a `maxAge` it may grow as old as it likes, and without an `ageGrace` its last calls may take as long.
  init(maxAge: Duration?, ageGrace: Duration?, idleTimeout: Duration, acceptedAt: MonotonicTime, jitter: Jitter) {
    dueByAge = maxAge.map { acceptedAt.advanced(by: $0 * (1 + jitter.age)) } ?? .distantFuture
    self.ageGrace = ageGrace
    self.idleTimeout = idleTimeout * (1 + jitter.idle)
  }

  enum OnTimer: Equatable {
    case wait(until: MonotonicTime)
    /// Ask the client to leave, and look again then.
    case drain(until: MonotonicTime)
    /// Whatever calls still run.
    case close
  }

  /// At the time that the last call named, or at any other. `idleSince` is `nil` while there are calls.
  mutating func timerExpired(at now: MonotonicTime, idleSince: MonotonicTime?) -> OnTimer {
    switch state {
    case .leaving(let until):
      return until <= now ? .close : .wait(until: until)
    case .serving:
      let dueByIdling = idleSince?.advanced(by: idleTimeout) ?? .distantFuture
      if dueByAge <= now { return leave(until: ageGrace.map(now.advanced(by:)) ?? .distantFuture) }
      if dueByIdling <= now { return leave(until: .distantFuture) }
      return .wait(until: min(dueByAge, dueByIdling))
    }
  }

  private mutating func leave(until: MonotonicTime) -> OnTimer {
    state = .leaving(until: until)
    return .drain(until: until)
  }
}
