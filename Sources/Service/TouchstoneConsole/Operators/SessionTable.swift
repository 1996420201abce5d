// The sessions of signed-in operators, and their ids. Pure: randomness and time are arguments.

internal import DispatchRPC
internal import Encodings
package import TouchstoneCrypto

/// The sessions of one process, in memory alone: they end with it.
struct SessionTable: Sendable {
  /// Without a request. Long enough for a phone call with a customer.
  static let idleTime = Duration.seconds(15 * 60)
  /// In all: a working day.
  static let absoluteTime = Duration.seconds(8 * 60 * 60)
  /// Sessions of one operator, in several browsers. At the limit the oldest one ends, so that a forgotten one locks no
  /// operator out. There are at most 256 operators.
  static let maximumPerOperator = 8

  /// A digest of the session's id, so that the time of a look-up shows nothing of other ids.
  typealias Key = [UInt8]

  struct Session: Sendable, Hashable {
    var operatorName: String
    /// Stands in each form of the session.
    var formToken: String
    /// The client's, without its port.
    var address: SocketAddress
    var beganAt: MonotonicTime
    var usedAt: MonotonicTime
    fileprivate var notice: Notice?
  }

  /// Says once, on the page that follows an action, that it was done. No link can claim that.
  struct Notice: Sendable, Hashable {
    /// The page, with its query.
    var path: String
    var action: ConsoleAction
    /// Older events that an erasure left in the archive; 0: none.
    var archivedThrough: UInt64
  }

  enum OnUse: Equatable {
    case session(Session)
    /// Timed out, signed out, of a removed operator, or of an earlier run of the process.
    case ended
    /// It came from another address, and has ended.
    case moved(Session)
  }

  private var sessions: [Key: Session] = [:]

  var count: Int { sessions.count }

  /// Adds a session under an id that was never used before: an id that a client brought is never taken over.
  mutating func begin(
    _ key: Key, of operatorName: String, formToken: String, from address: SocketAddress, at now: MonotonicTime
  ) {
    sessions = sessions.filter { !Self.isOver($0.value, at: now) }
    let own = sessions.filter { $0.value.operatorName == operatorName }
    if own.count >= Self.maximumPerOperator, let oldest = own.min(by: { $0.value.beganAt < $1.value.beganAt }) {
      sessions[oldest.key] = nil
    }
    sessions[key] = Session(
      operatorName: operatorName, formToken: formToken, address: address.subscriber, beganAt: now, usedAt: now)
  }

  /// - Parameter isByPerson: false for a request that a page makes by itself, which does not keep the session from
  ///   idling out.
  mutating func use(
    _ key: Key, from address: SocketAddress, isByPerson: Bool = true, at now: MonotonicTime
  ) -> OnUse {
    guard var session = sessions[key] else { return .ended }
    guard !Self.isOver(session, at: now) else {
      sessions[key] = nil
      return .ended
    }
    guard session.address == address.subscriber else {
      sessions[key] = nil
      return .moved(session)
    }
    if isByPerson { session.usedAt = now }
    sessions[key] = session
    return .session(session)
  }

  /// Replaces an earlier notice that no page has shown.
  mutating func leave(_ notice: Notice, for key: Key) {
    sessions[key]?.notice = notice
  }

  /// Returns the notice for this page, once.
  mutating func takeNotice(for key: Key, at path: String) -> Notice? {
    guard let notice = sessions[key]?.notice, notice.path == path else { return nil }
    sessions[key]?.notice = nil
    return notice
  }

  mutating func end(_ key: Key) {
    sessions[key] = nil
  }

  mutating func end(of operatorNames: Set<String>) {
    sessions = sessions.filter { !operatorNames.contains($0.value.operatorName) }
  }

  private static func isOver(_ session: Session, at now: MonotonicTime) -> Bool {
    session.usedAt.duration(to: now) >= idleTime || session.beganAt.duration(to: now) >= absoluteTime
  }
}

/// Makes and recognises ids, as a session's cookie has them: 256 random bits, and a proof that this installation made
/// them. The proof distinguishes a session that has ended from an invented one.
package struct SessionIDs: Sendable {
  private static let randomBytes = 32
  private static let purpose = "console session"

  private let pepper: Pepper
  private let randomness: Randomness

  package init(pepper: Pepper, randomness: Randomness = .system) {
    self.pepper = pepper
    self.randomness = randomness
  }

  func make() -> (id: String, key: SessionTable.Key) {
    let random = randomness.bytes(Self.randomBytes)
    return (Base64URL.encode(random + pepper.digest(of: random, purpose: Self.purpose)), sha256(random))
  }

  /// `nil`: no installation with this pepper made it.
  func key(of id: String) -> SessionTable.Key? {
    guard let bytes = Base64URL.decode(id), bytes.count == 2 * Self.randomBytes else { return nil }
    let random = Array(bytes.prefix(Self.randomBytes))
    let proof = pepper.digest(of: random, purpose: Self.purpose)
    guard areEqualInConstantTime(proof, Array(bytes.suffix(Self.randomBytes))) else { return nil }
    return sha256(random)
  }

  func formToken() -> String { Base64URL.encode(randomness.bytes(Self.randomBytes)) }
}

extension SessionIDs {
  /// Compares form tokens.
  func areEqual(_ token: String, _ expected: String) -> Bool {
    areEqualInConstantTime(Array(token.utf8), Array(expected.utf8))
  }
}
