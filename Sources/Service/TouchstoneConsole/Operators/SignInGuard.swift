// Locks sign-ins after failures: by name, and by the client's address. Pure: time is an argument.

internal import DispatchRPC
internal import TouchstoneCrypto

/// Counts each attempt as a failure before its password is verified, and takes that back after a success: attempts that come at
/// one time get no more guesses than others. Names that no operator has are treated alike.
///
/// An operator's failures at a client where that operator signed in before count apart. Attempts from elsewhere therefore lock no
/// operator out of the usual place of work.
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

  /// Clients of one operator, the latest ones: places of work, and no more than that.
  static let familiarClients = 4

  // MARK: By address

  /// Failures at once, of one client: several people may be behind one proxy.
  static let failuresPerAddress = 20
  /// After those, one failure more is allowed each time.
  static let addressInterval = Duration.seconds(30)
  static let maximumAddresses = 4_096

  /// A digest of the name, because people type passwords into the wrong field.
  typealias NameKey = [UInt8]

  static func key(of name: String) -> NameKey { sha256(Array(name.utf8)) }

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

  private struct Counted: Hashable, Sendable {
    var name: NameKey
    /// `nil`: all clients that are not familiar.
    var client: SocketAddress?
  }

  /// At most `familiarClients` and one for each operator.
  private var known: [Counted: Failures] = [:]
  private var unknown: [Counted: Failures] = [:]
  /// The clients where each operator signed in, the latest one last.
  private var familiar: [NameKey: [SocketAddress]] = [:]
  /// When an address has all of its failures again.
  private var addresses: [SocketAddress: MonotonicTime] = [:]

  mutating func attempt(
    _ name: NameKey, isKnown: Bool, from address: SocketAddress, at now: MonotonicTime
  ) -> OnAttempt {
    if let wait = wait(of: address.subscriber, at: now) { return .locked(wait) }
    let counted = counted(name, from: address)
    var failures = (isKnown ? known : unknown)[counted] ?? Failures(lastAt: now, lockedUntil: now)
    if failures.lastAt.duration(to: now) >= Self.memory { failures.count = 0 }
    let wait = now.duration(to: failures.lockedUntil)
    guard wait <= .zero else { return .locked(wait) }
    failures.count += 1
    failures.lastAt = now
    failures.lockedUntil = now.advanced(by: Self.lock(after: failures.count))
    keep(failures, of: counted, isKnown: isKnown)
    take(from: address.subscriber, at: now)
    return .verify
  }

  /// The password was right.
  mutating func succeeded(_ name: NameKey, from address: SocketAddress) {
    known[counted(name, from: address)] = nil
    giveBack(to: address.subscriber)
    var clients = familiar[name] ?? []
    clients.removeAll { $0 == address.subscriber }
    clients.append(address.subscriber)
    if clients.count > Self.familiarClients { known[Counted(name: name, client: clients.removeFirst())] = nil }
    familiar[name] = clients
  }

  /// The operator is gone, or has another password: with the former one a thief may have signed in.
  mutating func forget(_ name: NameKey) {
    for client in familiar.removeValue(forKey: name) ?? [] { known[Counted(name: name, client: client)] = nil }
  }

  /// The operator of that name signed in from there before.
  func isFamiliar(_ name: NameKey, from address: SocketAddress) -> Bool {
    familiar[name]?.contains(address.subscriber) == true
  }

  private func counted(_ name: NameKey, from address: SocketAddress) -> Counted {
    Counted(name: name, client: isFamiliar(name, from: address) ? address.subscriber : nil)
  }

  /// The password was not verified.
  mutating func withdrawn(_ name: NameKey, isKnown: Bool, from address: SocketAddress, at now: MonotonicTime) {
    giveBack(to: address.subscriber)
    let counted = counted(name, from: address)
    guard var failures = (isKnown ? known : unknown)[counted] else { return }
    failures.count -= 1
    failures.lockedUntil = now
    if isKnown { known[counted] = failures } else { unknown[counted] = failures }
  }

  /// The lock that follows the failure of this number.
  static func lock(after count: Int) -> Duration {
    guard count >= freeAttempts else { return .zero }
    // Beyond four doublings it is the longest.
    return min(longestLock, firstLock * (1 << min(count - freeAttempts, 4)))
  }

  private mutating func keep(_ failures: Failures, of counted: Counted, isKnown: Bool) {
    guard !isKnown else { return known[counted] = failures }
    unknown[counted] = failures
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
