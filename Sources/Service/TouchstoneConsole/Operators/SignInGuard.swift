// Locks sign-ins after failures: by name, and by the client's address. Pure: time is an argument.

internal import DispatchRPC

/// Counts each attempt as a failure before its password is verified, and takes that back after a success: attempts that come at
/// one time get no more guesses than others. Names that no operator has are treated alike.
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

  // MARK: By address

  /// Failures at once, of one client: several people may be behind one proxy.
  static let failuresPerAddress = 20
  /// After those, one failure more is allowed each time.
  static let addressInterval = Duration.seconds(30)
  static let maximumAddresses = 4_096

  /// A digest of the name, because people type passwords into the wrong field.
  typealias NameKey = [UInt8]

  enum OnAttempt: Equatable {
    /// Verify the password, and tell the result.
    case verify
    /// No password is right meanwhile.
    case locked(Duration)
  }

  private struct Failures: Sendable {
    var count = 0
    var lastAt: MonotonicTime
    var lockedUntil: MonotonicTime
  }

  private var known: [NameKey: Failures] = [:]
  private var unknown: [NameKey: Failures] = [:]
  /// When an address has all of its failures again.
  private var addresses: [SocketAddress: MonotonicTime] = [:]

  mutating func attempt(
    _ name: NameKey, isKnown: Bool, from address: SocketAddress, at now: MonotonicTime
  ) -> OnAttempt {
    if let wait = wait(of: address.subscriber, at: now) { return .locked(wait) }
    var failures = (isKnown ? known : unknown)[name] ?? Failures(lastAt: now, lockedUntil: now)
    if failures.lastAt.duration(to: now) >= Self.memory { failures.count = 0 }
    let wait = now.duration(to: failures.lockedUntil)
    guard wait <= .zero else { return .locked(wait) }
    failures.count += 1
    failures.lastAt = now
    failures.lockedUntil = now.advanced(by: Self.lock(after: failures.count))
    keep(failures, of: name, isKnown: isKnown)
    take(from: address.subscriber, at: now)
    return .verify
  }

  /// The password was right.
  mutating func succeeded(_ name: NameKey, from address: SocketAddress) {
    known[name] = nil
    giveBack(to: address.subscriber)
  }

  /// The password was not verified.
  mutating func withdrawn(_ name: NameKey, isKnown: Bool, from address: SocketAddress, at now: MonotonicTime) {
    giveBack(to: address.subscriber)
    guard var failures = (isKnown ? known : unknown)[name] else { return }
    failures.count -= 1
    failures.lockedUntil = now
    if isKnown { known[name] = failures } else { unknown[name] = failures }
  }

  /// The lock that follows the failure of this number.
  static func lock(after count: Int) -> Duration {
    guard count >= freeAttempts else { return .zero }
    // Beyond four doublings it is the longest.
    return min(longestLock, firstLock * (1 << min(count - freeAttempts, 4)))
  }

  private mutating func keep(_ failures: Failures, of name: NameKey, isKnown: Bool) {
    guard !isKnown else { return known[name] = failures }
    unknown[name] = failures
    guard unknown.count > Self.maximumUnknownNames else { return }
    if let oldest = unknown.min(by: { $0.value.lastAt < $1.value.lastAt }) { unknown[oldest.key] = nil }
  }

  private func wait(of address: SocketAddress, at now: MonotonicTime) -> Duration? {
    guard let isFullAt = addresses[address] else { return nil }
    let debt = now.duration(to: isFullAt) - Self.addressInterval * (Self.failuresPerAddress - 1)
    return debt > .zero ? debt : nil
  }

  private mutating func take(from address: SocketAddress, at now: MonotonicTime) {
    addresses[address] = max(addresses[address] ?? now, now).advanced(by: Self.addressInterval)
    guard addresses.count > Self.maximumAddresses else { return }
    addresses = addresses.filter { $0.value > now }
    if addresses.count > Self.maximumAddresses, let least = addresses.min(by: { $0.value < $1.value }) {
      addresses[least.key] = nil
    }
  }

  private mutating func giveBack(to address: SocketAddress) {
    guard let isFullAt = addresses[address] else { return }
    addresses[address] = isFullAt.advanced(by: .zero - Self.addressInterval)
  }
}
