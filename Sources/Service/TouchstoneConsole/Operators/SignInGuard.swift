// Locks sign-ins after failures: by name, by the client's address, and of all strangers together. Pure: time is an
// argument.

internal import DispatchRPC
internal import Encodings
internal import TouchstoneCrypto

/// Counts each attempt as a failure before its password is verified, and takes that back after a success: attempts that
/// come at one time get no more guesses than others. Names that no operator has are treated alike.
///
/// A browser that proves an earlier sign-in of the operator (`BrowserProofs`) counts apart, and only there: strangers
/// lock no operator out of it, whichever address they share with the operator. Its proof allows no more guesses than a
/// name does.
struct SignInGuard: Sendable {
  // MARK: By name

  /// Attempts in a row without a lock.
  static let freeAttempts = 5
  /// After the last free attempt. Each further failure doubles it.
  static let firstLock = Duration.seconds(60)
  /// An attacker must not keep an operator out for a day.
  static let longestLock = Duration.seconds(15 * 60)
  /// Without an attempt for so long, the failures are forgotten.
  static let memory = Duration.seconds(60 * 60)
  /// Names that no operator has. Beyond it the oldest is forgotten, for which it takes hundreds of addresses.
  static let maximumUnknownNames = 4_096
  /// Familiar browsers with failures: 16 for each operator. Beyond it the oldest is forgotten; only an operator makes
  /// more.
  static let maximumBrowsers = 4_096

  // MARK: By address

  /// Failures at once, of one client: several people may be behind one proxy.
  static let failuresPerAddress = 20
  /// After those, one failure more is allowed each time.
  static let addressInterval = Duration.seconds(30)
  static let maximumAddresses = 4_096

  // MARK: Of all strangers together

  /// Failures at once: more than one address has.
  static let strangersAtOnce = 30
  /// After those, one failure more is allowed each time: two checks a second take a fifth of a core.
  static let strangerInterval = Duration.milliseconds(500)

  /// A digest of the name, because people type passwords into the wrong field.
  typealias NameKey = [UInt8]

  static func key(of name: String) -> NameKey { sha256(Array(name.utf8)) }

  static func text(of name: String) -> String { Base64URL.encode(key(of: name)) }

  enum OnAttempt: Equatable {
    /// Verify the password, and tell the result.
    case verify
    /// No password is right meanwhile.
    case locked(Duration)
    /// All strangers together fail too often.
    case crowded
  }

  /// An attempt: the name, and the browser if it is familiar to the operator of that name.
  struct Attempt: Sendable {
    var name: NameKey
    var isKnown: Bool
    var browser: BrowserProofs.BrowserID?
    var address: SocketAddress
  }

  private struct Failures: Sendable {
    var count = 0
    var lastAt: MonotonicTime
    var lockedUntil: MonotonicTime
  }

  private struct Counted: Hashable, Sendable {
    var name: NameKey
    /// `nil`: all browsers that are not familiar.
    var browser: BrowserProofs.BrowserID?
  }

  /// A table that forgets the oldest failures beyond its limit.
  private struct Table: Sendable {
    let limit: Int
    private var failures: [Counted: Failures] = [:]

    init(limit: Int) {
      self.limit = limit
    }

    subscript(_ counted: Counted) -> Failures? {
      get { failures[counted] }
      set {
        failures[counted] = newValue
        guard failures.count > limit else { return }
        if let oldest = failures.min(by: { $0.value.lastAt < $1.value.lastAt }) { failures[oldest.key] = nil }
      }
    }
  }

  /// One for each operator.
  private var known = Table(limit: OperatorDefinition.maximumOperators)
  private var unknown = Table(limit: maximumUnknownNames)
  private var browsers = Table(limit: maximumBrowsers)
  /// When an address has all of its failures again.
  private var addresses: [SocketAddress: MonotonicTime] = [:]
  /// When strangers have all of their failures again; `nil`: there was none.
  private var strangersAreFullAt: MonotonicTime?

  mutating func attempt(_ attempt: Attempt, at now: MonotonicTime) -> OnAttempt {
    let isStranger = attempt.browser == nil
    if isStranger {
      if let wait = wait(of: attempt.address.subscriber, at: now) { return .locked(wait) }
      if Self.debt(strangersAreFullAt, Self.strangersAtOnce, Self.strangerInterval, at: now) > .zero { return .crowded }
    }
    var failures = self[attempt] ?? Failures(lastAt: now, lockedUntil: now)
    if failures.lastAt.duration(to: now) >= Self.memory { failures.count = 0 }
    let wait = now.duration(to: failures.lockedUntil)
    guard wait <= .zero else { return .locked(wait) }
    failures.count += 1
    failures.lastAt = now
    failures.lockedUntil = now.advanced(by: Self.lock(after: failures.count))
    self[attempt] = failures
    if isStranger { take(from: attempt.address.subscriber, at: now) }
    return .verify
  }

  /// The password was right.
  mutating func succeeded(_ attempt: Attempt) {
    self[attempt] = nil
    giveBack(of: attempt)
  }

  /// The password was not verified.
  mutating func withdrawn(_ attempt: Attempt, at now: MonotonicTime) {
    giveBack(of: attempt)
    guard var failures = self[attempt] else { return }
    failures.count -= 1
    failures.lockedUntil = now
    self[attempt] = failures
  }

  /// The lock that follows the failure of this number.
  static func lock(after count: Int) -> Duration {
    guard count >= freeAttempts else { return .zero }
    // Beyond four doublings it is the longest.
    return min(longestLock, firstLock * (1 << min(count - freeAttempts, 4)))
  }

  /// The failures that the attempt adds to.
  private subscript(_ attempt: Attempt) -> Failures? {
    get {
      let counted = Counted(name: attempt.name, browser: attempt.browser)
      if attempt.browser != nil { return browsers[counted] }
      return attempt.isKnown ? known[counted] : unknown[counted]
    }
    set {
      let counted = Counted(name: attempt.name, browser: attempt.browser)
      if attempt.browser != nil { return browsers[counted] = newValue }
      if attempt.isKnown { known[counted] = newValue } else { unknown[counted] = newValue }
    }
  }

  // MARK: Failures that come back one by one

  /// How long to wait for the next one; zero or less: there is one.
  private static func debt(
    _ isFullAt: MonotonicTime?, _ atOnce: Int, _ interval: Duration, at now: MonotonicTime
  ) -> Duration {
    guard let isFullAt else { return .zero }
    return now.duration(to: isFullAt) - interval * (atOnce - 1)
  }

  private func wait(of address: SocketAddress, at now: MonotonicTime) -> Duration? {
    let debt = Self.debt(addresses[address], Self.failuresPerAddress, Self.addressInterval, at: now)
    return debt > .zero ? debt : nil
  }

  private mutating func take(from address: SocketAddress, at now: MonotonicTime) {
    strangersAreFullAt = max(strangersAreFullAt ?? now, now).advanced(by: Self.strangerInterval)
    addresses[address] = max(addresses[address] ?? now, now).advanced(by: Self.addressInterval)
    guard addresses.count > Self.maximumAddresses else { return }
    addresses = addresses.filter { $0.value > now }
    if addresses.count > Self.maximumAddresses, let least = addresses.min(by: { $0.value < $1.value }) {
      addresses[least.key] = nil
    }
  }

  private mutating func giveBack(of attempt: Attempt) {
    guard attempt.browser == nil else { return }
    strangersAreFullAt = strangersAreFullAt?.advanced(by: .zero - Self.strangerInterval)
    let address = attempt.address.subscriber
    guard let isFullAt = addresses[address] else { return }
    addresses[address] = isFullAt.advanced(by: .zero - Self.addressInterval)
  }
}
