// Decides whether a token serves now: as proof (R32, R40), and to be consumed (R39).

/// The state in a token's row. A token that serves once has a row from its issue on, any other one from its revocation
/// on.
public enum TokenState: UInt8, Sendable, Hashable {
  case issued = 1
  case consumed
  case revoked
}

/// A genuine token of the application that asks, and what it rests on as it is now.
public struct TokenFacts: Sendable, Hashable {
  public var servesOnce: Bool
  /// A passcode or a gesture proved the person.
  public var isProvenBySecret: Bool
  public var issuedAt: UnixTime
  public var expiresAt: UnixTime
  /// `nil`: there is no row.
  public var state: TokenState?
  /// The approved one's canonical bytes; empty for a login.
  public var transaction: [UInt8]
  public var holder: Holder

  /// The binding or the profile on which the token depends.
  public enum Holder: Sendable, Hashable {
    /// The binding or the profile that it was issued on is gone, also where another one has its id.
    case erased
    case binding(isRevoked: Bool)
    /// A token without a binding depends on its profile.
    ///
    /// - Parameter hasSameSecrets: none was set anew or erased since.
    case profile(hasSameSecrets: Bool)
  }

  public init(
    servesOnce: Bool, isProvenBySecret: Bool, issuedAt: UnixTime, expiresAt: UnixTime, state: TokenState?,
    transaction: [UInt8], holder: Holder
  ) {
    self.servesOnce = servesOnce
    self.isProvenBySecret = isProvenBySecret
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.state = state
    self.transaction = transaction
    self.holder = holder
  }
}

extension TokenFacts {
  public func isActive(at now: UnixTime) -> Bool { isUnused && isHolderActive && isInTime(at: now) }

  /// Whether a revocation changes it. A token that was consumed stays so, because the call that consumed it may be
  /// repeated to learn what became of it (R39).
  public var isRevocable: Bool { state != .revoked && state != .consumed }

  /// Neither consumed nor revoked. If a token that serves once has lost its row, it was used and forgotten.
  private var isUnused: Bool { servesOnce ? state == .issued : state == nil }

  /// A token without a binding that a secret proved ends with that secret (R32).
  fileprivate var isHolderActive: Bool {
    switch holder {
    case .erased: false
    case .binding(let isRevoked): !isRevoked
    case .profile(let hasSameSecrets): hasSameSecrets || !isProvenBySecret
    }
  }

  fileprivate func isInTime(at now: UnixTime) -> Bool {
    Expiry.isInTime(expiresAt, lifetime: expiresAt - issuedAt, at: now)
  }
}

/// Why a token is not consumed: tokens.proto's words.
public enum TokenRefusal: String, Sendable, Hashable, CaseIterable {
  case invalid = "INVALID"
  case expired = "EXPIRED"
  case alreadyConsumed = "ALREADY_CONSUMED"
  case revoked = "REVOKED"
  case transactionMismatch = "TRANSACTION_MISMATCH"

  /// `nil`: it may be consumed. Only a token that serves once can be (R39).
  ///
  /// - Parameters:
  ///   - token: `nil`: not genuine, or another application's.
  ///   - transaction: what is to be paid; `nil`: nothing.
  public init?(consuming token: TokenFacts?, for transaction: Transaction?, at now: UnixTime) {
    guard let token, token.servesOnce || token.state == .revoked else {
      self = .invalid
      return
    }
    guard token.isInTime(at: now) else {
      self = .expired
      return
    }
    switch token.state {
    case nil:
      self = .invalid
    case .consumed:
      self = .alreadyConsumed
    case .issued where token.isHolderActive:
      // The transaction is no secret, so an early exit tells nothing.
      guard transaction?.canonicalBytes ?? [] != token.transaction else { return nil }
      self = .transactionMismatch
    case .issued, .revoked:
      self = .revoked
    }
  }
}
