/// An authenticator's data about itself and about a login (WebAuthn Level 3 §6.1), also as App Attest uses it.
package struct AuthenticatorData: Sendable {
  /// The part that is always there.
  static let headBytes = 37
  /// WebAuthn Level 3 §4.
  static let maximumCredentialIDBytes = 1_023

  /// All of it, as it was signed.
  package let bytes: [UInt8]
  package let rpIDHash: [UInt8]
  package let flags: Flags
  package let signCount: UInt32
  /// `nil`: AT is not set.
  package let credential: AttestedCredential?
  package let extensions: CBORMap?

  package struct Flags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let userPresent = Flags(rawValue: 0x01)
    package static let userVerified = Flags(rawValue: 0x04)
    package static let backupEligible = Flags(rawValue: 0x08)
    package static let backedUp = Flags(rawValue: 0x10)
    package static let attestedCredential = Flags(rawValue: 0x40)
    package static let extensions = Flags(rawValue: 0x80)
  }

  package struct AttestedCredential: Sendable {
    package let aaguid: [UInt8]
    package let id: [UInt8]
    /// A COSE key, as it was sent.
    package let publicKey: [UInt8]
  }

  package enum Form {
    case webAuthn
    /// A map may follow, whether ED is set or not: iOS 27 sends one, with and without.
    case appAttestation
    /// AT is set, and there is no credential.
    case appAssertion
  }

  package init(_ bytes: [UInt8], as form: Form = .webAuthn) throws(ProofError) {
    guard bytes.count >= Self.headBytes else {
      throw ProofError(.malformedAuthenticatorData, "\(bytes.count) bytes, fewer than \(Self.headBytes)")
    }
    self.bytes = bytes
    rpIDHash = Array(bytes[..<32])
    flags = Flags(rawValue: bytes[32])
    signCount = Self.signCount(in: bytes) ?? 0
    var position = Self.headBytes
    if flags.contains(.attestedCredential), form != .appAssertion {
      credential = try Self.credential(bytes, &position)
    } else {
      credential = nil
    }
    let hasExtensions =
      switch form {
      case .webAuthn: flags.contains(.extensions)
      case .appAttestation, .appAssertion: position < bytes.count
      }
    extensions = hasExtensions ? try Self.map(bytes, &position) : nil
    guard position == bytes.count else {
      throw ProofError(.malformedAuthenticatorData, "\(bytes.count - position) bytes after its end")
    }
  }

  /// `nil`: the bytes end before it.
  package static func signCount(in bytes: [UInt8]) -> UInt32? {
    guard bytes.count >= headBytes else { return nil }
    return bytes[33..<headBytes].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// None, if the bytes end before them.
  package static func flags(in bytes: [UInt8]) -> Flags {
    bytes.count >= headBytes ? Flags(rawValue: bytes[32]) : []
  }

  private static func credential(_ bytes: [UInt8], _ position: inout Int) throws(ProofError) -> AttestedCredential {
    guard bytes.count >= position + 18 else {
      throw ProofError(.malformedAuthenticatorData, "the credential ends early")
    }
    let aaguid = Array(bytes[position..<position + 16])
    let count = Int(bytes[position + 16]) << 8 | Int(bytes[position + 17])
    position += 18
    guard (1...maximumCredentialIDBytes).contains(count), bytes.count >= position + count else {
      throw ProofError(.malformedAuthenticatorData, "a credential id of \(count) bytes")
    }
    let id = Array(bytes[position..<position + count])
    position += count
    let start = position
    _ = try map(bytes, &position)
    return AttestedCredential(aaguid: aaguid, id: id, publicKey: Array(bytes[start..<position]))
  }

  private static func map(_ bytes: [UInt8], _ position: inout Int) throws(ProofError) -> CBORMap {
    var reader = CBORReader(bytes, at: position)
    guard let map = try reader.next().map else {
      throw ProofError(.malformedAuthenticatorData, "a map is missing")
    }
    position = reader.position
    return map
  }
}
