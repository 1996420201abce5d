// The state by which a token without a binding is tied to the profile for which it was issued (R32).

internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Two keyed digests: of the profile's incarnation, and of the times when its secrets were set. They are compared for
/// equality, because times of several clocks have no order.
///
/// Both include the token's id, so they reveal nothing, not even whether two tokens agree (R37).
struct ProfileState: Sendable {
  private static let digestBytes = 16

  private let profile: [UInt8]
  private let secrets: [UInt8]

  init(of record: ProfileRecord, forToken tokenID: String, pepper: Pepper) {
    func digest(_ parts: [UInt8], _ purpose: String) -> [UInt8] {
      Array(pepper.digest(of: Array(tokenID.utf8), parts, purpose: purpose).prefix(Self.digestBytes))
    }
    var incarnation: [UInt8] = []
    incarnation.append(bigEndian: record.incarnation)
    profile = digest(incarnation, "token's profile")
    var times: [UInt8] = []
    for secret in [record.passcode, record.gesture] {
      times.append(secret == nil ? 0 : 1)
      if let secret { times.append(bigEndian: secret.setAt.microseconds) }
    }
    secrets = digest(times, "token's secrets")
  }

  /// The bytes in the token's claim.
  var bytes: [UInt8] { profile + secrets }

  func hasProfile(of token: [UInt8]) -> Bool { token.starts(with: profile) }

  func hasSecrets(of token: [UInt8]) -> Bool { token.dropFirst(Self.digestBytes).elementsEqual(secrets) }
}
